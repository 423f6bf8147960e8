// Optional ports of a development chain: a port that another process uses is not opened, and a line
// reports it.
import net from 'node:net'
import type { Resolved, Settings } from '../config/index.ts'

/** Whether a port is free. */
const isFree = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = net.createServer()
    probe.once('error', (e: NodeJS.ErrnoException) => resolve(e.code !== 'EADDRINUSE'))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)))
  })

/**
 * The settings without the listeners whose default port is in use; `report` receives a line for
 * each. Ports that the user configured do not change.
 */
export async function withoutUsedPorts({ settings, origins }: Resolved, report: (line: string) => void): Promise<Settings> {
  const isDefault = (key: 'evm.ws_port' | 'metrics.port'): boolean => origins[key] === 'default' && settings[key] !== 0
  let left = settings
  const wsPort = settings['evm.ws_port']
  const canShare = settings['evm.http_enabled'] && settings['evm.http_port'] !== 0
  if (settings['evm.ws_enabled'] && canShare && isDefault('evm.ws_port') && !(await isFree(settings['evm.ws_host'], wsPort))) {
    // WebSocket is on the port of HTTP in any case.
    left = { ...left, 'evm.ws_host': settings['evm.http_host'], 'evm.ws_port': settings['evm.http_port'] }
    report(`Port ${wsPort} is taken: WebSocket is on port ${settings['evm.http_port']} alone.\n`)
  }
  const metricsPort = settings['metrics.port']
  if (settings['metrics.enabled'] && isDefault('metrics.port') && !(await isFree(settings['metrics.host'], metricsPort))) {
    left = { ...left, 'metrics.enabled': false }
    report(`Port ${metricsPort} is taken: there is no metrics page.\n`)
  }
  return left
}
