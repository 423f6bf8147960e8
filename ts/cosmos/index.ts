// The listeners of a node under CometBFT for clients of the Cosmos SDK: REST, and gRPC.
import type http from 'node:http'
import type net from 'node:net'
import type { Settings } from '../config/index.ts'
import type { Core } from '../core/port.ts'
import { createServer, shareConnections, timeouts } from '../server/connections.ts'
import { lazyApp } from '../server/lazy.ts'
import { listen, shownHost, stopListener } from '../server/listener.ts'
import { cutOffAfter } from '../server/respond.ts'
import { Answers } from './answers.ts'
import type { EngineSource } from './engine-queries.ts'
import { Gate } from './gate.ts'
import type { CosmosMeter } from './queries.ts'

/** What the listeners work with. */
export interface CosmosHooks {
  readonly core: Core
  /** Where the RPC of CometBFT is; undefined where there is none. */
  readonly rpcUrl: () => string | undefined
  /** Version of this program. */
  readonly version: string
  readonly meter: CosmosMeter
  readonly runToken?: string | undefined
  readonly report: (e: unknown) => void
}

/** Listeners that are open. */
export interface CosmosListeners {
  readonly restUrl: string | undefined
  /** Host and port. */
  readonly grpcUrl: string | undefined
  readonly stop: () => Promise<void>
}

const lowerCase = (words: readonly string[]): string[] => words.map((word) => word.toLowerCase())

/** Opens the listeners that are switched on. Rejects with `ListenError` or `AuthFileError`. */
export async function startCosmos(settings: Settings, hooks: CosmosHooks): Promise<CosmosListeners> {
  const { core, meter, report, runToken } = hooks
  const engine: EngineSource = { rpcUrl: hooks.rpcUrl, version: hooks.version }
  const answers = new Answers(core, engine, settings['rest.max_page'])
  const stops: (() => Promise<unknown>)[] = []
  const withinMs = settings['evm.shutdown_timeout']
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= Promise.all(stops.map((one) => one())).then(() => undefined)
    return stopping
  }
  const open = async (server: http.Server | net.Server, section: 'rest' | 'grpc', gate: Gate): Promise<string> => {
    shareConnections(server, settings, gate.admission)
    const host = settings[`${section}.host`]
    return `${shownHost(host)}:${await listen(server, host, settings[`${section}.port`], `${section}.port`)}`
  }
  try {
    let [restUrl, grpcUrl]: (string | undefined)[] = []
    if (settings['rest.enabled']) {
      const { createRest } = await import('./rest.ts')
      const gate = new Gate(settings, 'rest', runToken)
      const { app, serveAgain } = createRest({
        answers,
        gate,
        meter,
        corsOrigins: lowerCase(settings['evm.cors_origins']),
        allowedHosts: lowerCase(settings['evm.allowed_hosts']),
        maxBodyBytes: settings['evm.max_request_body_bytes'],
        writeMs: settings['evm.write_timeout'],
        report,
      })
      const serve = lazyApp(async () => app, report)
      const server = createServer(timeouts(settings), (request, response) => {
        // Of the app's answers too, which Hono's server writes.
        response.once('prefinish', () => {
          if (response.writableLength > 0) cutOffAfter(response, settings['evm.write_timeout'])
        })
        if (!serveAgain(request, response)) serve(request, response)
      })
      stops.push(() => (server.listening ? stopListener(server, withinMs) : Promise.resolve()))
      restUrl = `http://${await open(server, 'rest', gate)}`
    }
    if (settings['grpc.enabled']) {
      const { createGrpc } = await import('./grpc.ts')
      const gate = new Gate(settings, 'grpc', runToken)
      const { server, stop: stopGrpc } = createGrpc({
        answers,
        gate,
        meter,
        maxBytes: settings['evm.max_request_body_bytes'],
        idleMs: settings['evm.idle_timeout'],
        report,
      })
      stops.push(() => stopGrpc(withinMs))
      grpcUrl = await open(server, 'grpc', gate)
    }
    return { restUrl, grpcUrl, stop }
  } catch (e) {
    await stop()
    throw e
  }
}
