// The listeners: JSON-RPC over HTTP with WebSocket by upgrade, and over WebSocket alone on a port of its own.
import http from 'node:http'
import type { Settings } from '../config/index.ts'
import type { Dispatch } from '../rpc/dispatch.ts'
import { Admission } from './admission/index.ts'
import { createListener } from './app.ts'
import { IdleClock } from './idle.ts'
import { SEND_AHEAD_BYTES, TIMEOUT_CHECK_MS_MAX, TIMEOUT_CHECKS } from './limits.ts'
import { listen, shownHost, stopListener } from './listener.ts'
import type { Readiness } from './readiness.ts'
import { createWebSocketEndpoint } from './websocket.ts'

export { ListenError } from './listener.ts'
export { type MetricsServer, NotOpen, startMetricsServer } from './metrics.ts'
export { type Check, diskHasRoom, headIsYoung, Readiness } from './readiness.ts'

/** Listeners that are open. */
export interface Server {
  /** JSON-RPC over HTTP; undefined where it is switched off. */
  readonly httpUrl: string | undefined
  /** JSON-RPC over WebSocket alone; undefined where it is switched off. */
  readonly wsUrl: string | undefined
  /** Takes no more connections, lets answers under way finish for a while, then closes what is left. Any call after the first waits with it. */
  stop(): Promise<void>
}

/** Node's own clocks of a connection. They are looked at often enough to be kept within a tenth. */
function timeouts(settings: Settings): http.ServerOptions {
  const requestTimeout = settings['evm.read_timeout']
  const headersTimeout = Math.min(requestTimeout, settings['evm.read_header_timeout'])
  const connectionsCheckingInterval = Math.min(TIMEOUT_CHECK_MS_MAX, headersTimeout / TIMEOUT_CHECKS)
  return { requestTimeout, headersTimeout, connectionsCheckingInterval, keepAliveTimeout: settings['evm.idle_timeout'] }
}

const lowerCase = (words: readonly string[]): string[] => words.map((word) => word.toLowerCase())

/** What the listeners are told beside the settings. */
export interface ServerHooks {
  /** Told of failures that no client can be told of. */
  readonly report: (e: unknown) => void
  /** Told of every WebSocket connection. */
  readonly onConnect?: () => void
  /** What `/ready` tells; without it there are no probes. */
  readonly readiness?: Readiness
}

/** Opens the listeners that are switched on. */
export async function startServer(
  settings: Settings,
  dispatch: Dispatch,
  { report, onConnect = () => undefined, readiness }: ServerHooks,
): Promise<Server> {
  const admission = new Admission(settings)
  const listener = createListener({
    dispatch,
    admission,
    allowedHosts: lowerCase(settings['evm.allowed_hosts']),
    corsOrigins: lowerCase(settings['evm.cors_origins']),
    maxBodyBytes: settings['evm.max_request_body_bytes'],
    compression: { thresholdBytes: settings['evm.gzip_threshold_bytes'], level: settings['evm.gzip_level'] },
    bodyIdle: new IdleClock(settings['evm.body_read_idle_timeout']),
    writeMs: settings['evm.write_timeout'],
    stallMs: settings['evm.trace_stall_timeout'],
    readiness,
    report,
  })
  const sockets = createWebSocketEndpoint({
    dispatch,
    admission,
    allowedHosts: lowerCase(settings['evm.allowed_hosts']),
    origins: lowerCase(settings['evm.ws_origins']),
    stopMs: settings['evm.shutdown_timeout'],
    maxPayloadBytes: settings['evm.ws_max_payload_bytes'],
    maxInFlight: settings['evm.ws_max_in_flight'],
    writeMs: settings['evm.write_timeout'],
    stallMs: settings['evm.trace_stall_timeout'],
    report,
    onConnect,
  })
  const options = { ...timeouts(settings), highWaterMark: SEND_AHEAD_BYTES }
  const httpServer = http.createServer(options, listener)
  const wsServer = http.createServer(options, (_, response) => {
    response
      .writeHead(426, { upgrade: 'websocket', connection: 'close', 'content-type': 'text/plain' })
      .end('this port speaks WebSocket alone\n')
  })
  const servers = [httpServer, wsServer]
  for (const server of servers) {
    server.maxConnections = settings['evm.max_open_connections']
    if (settings['evm.ws_enabled']) server.on('upgrade', sockets.upgrade)
  }
  const closeAll = async (): Promise<void> => {
    sockets.close()
    const withinMs = settings['evm.shutdown_timeout']
    await Promise.all(servers.filter((server) => server.listening).map((server) => stopListener(server, withinMs)))
  }
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= closeAll()
    return stopping
  }
  try {
    const httpUrl = settings['evm.http_enabled'] ? await openHttp(httpServer, settings) : undefined
    const wsUrl = settings['evm.ws_enabled'] ? await openWs(wsServer, settings, httpUrl) : undefined
    return { httpUrl, wsUrl, stop }
  } catch (e) {
    await stop()
    throw e
  }
}

async function openHttp(server: http.Server, settings: Settings): Promise<string> {
  const host = settings['evm.http_host']
  return `http://${shownHost(host)}:${await listen(server, host, settings['evm.http_port'], 'evm.http_port')}`
}

/** Where host and port are those of HTTP, that listener serves both. */
async function openWs(server: http.Server, settings: Settings, httpUrl: string | undefined): Promise<string> {
  const host = settings['evm.ws_host']
  const port = settings['evm.ws_port']
  if (port !== 0 && httpUrl === `http://${shownHost(host)}:${port}`) return `ws://${shownHost(host)}:${port}`
  return `ws://${shownHost(host)}:${await listen(server, host, port, 'evm.ws_port')}`
}
