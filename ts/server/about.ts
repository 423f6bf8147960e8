// The answer to GET / on a port of JSON-RPC: text for a person, and status 200 for health checks of
// load balancers.
import type { Settings } from '../config/index.ts'

/** The text for a listener; `metricsUrl` is undefined where metrics are off. */
export function aboutText(settings: Settings, hasProbes: boolean, metricsUrl: string | undefined): string {
  const webSocket = settings['evm.ws_enabled'] ? ', or WebSocket at the same address' : ''
  const probes = 'GET /health: 200 while the process runs. GET /ready: 200 while it takes requests, else 503 with the reasons.'
  return [
    `Hearth, an EVM node: JSON-RPC by POST to this URL${webSocket}.`,
    ...(hasProbes ? [probes] : []),
    ...(metricsUrl === undefined ? [] : [`Metrics for Prometheus: /metrics on port ${new URL(metricsUrl).port}.`]),
    'Namespaces that are served: the method rpc_modules. Documentation: docs/rpc.md and docs/errors.md of the program.',
    '',
  ].join('\n')
}
