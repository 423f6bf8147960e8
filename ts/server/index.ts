// The listeners: JSON-RPC over HTTP with WebSocket by upgrade, and over WebSocket alone on a port of its own.
import http from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Settings } from '../config/index.ts'
import type { Dispatch } from '../rpc/dispatch.ts'
import { createApp } from './app.ts'
import { KEEP_ALIVE_MS, REQUEST_READ_MS_MAX } from './limits.ts'
import { listen, shownHost, stopListener } from './listener.ts'
import { createWebSocketEndpoint } from './websocket.ts'

export { ListenError } from './listener.ts'
export { type MetricsServer, startMetricsServer } from './metrics.ts'

/** Listeners that are open. */
export interface Server {
  readonly httpUrl: string
  readonly wsUrl: string
  /** Takes no more connections, lets answers under way finish for a while, then closes what is left. */
  stop(): Promise<void>
}

/** Opens both listeners; `onConnect` is told of every WebSocket connection. */
export async function startServer(
  settings: Settings,
  dispatch: Dispatch,
  report: (e: unknown) => void,
  onConnect: () => void = () => undefined,
): Promise<Server> {
  const corsOrigins = settings['evm.cors_origins'].map((origin) => origin.toLowerCase())
  const app = createApp({
    dispatch,
    corsOrigins,
    maxBodyBytes: settings['evm.max_request_body_bytes'],
    compression: { thresholdBytes: settings['evm.gzip_threshold_bytes'], level: settings['evm.gzip_level'] },
    stallMs: settings['evm.trace_stall_timeout'],
    report,
  })
  const sockets = createWebSocketEndpoint({
    dispatch,
    corsOrigins,
    maxPayloadBytes: settings['evm.ws_max_payload_bytes'],
    maxInFlight: settings['evm.ws_max_in_flight'],
    stallMs: settings['evm.trace_stall_timeout'],
    report,
    onConnect,
  })
  const timeouts = { requestTimeout: REQUEST_READ_MS_MAX, headersTimeout: REQUEST_READ_MS_MAX, keepAliveTimeout: KEEP_ALIVE_MS }
  const httpServer = http.createServer({ ...timeouts }, getRequestListener(app.fetch))
  const wsServer = http.createServer({ ...timeouts }, (_, response) => {
    response
      .writeHead(426, { upgrade: 'websocket', connection: 'close', 'content-type': 'text/plain' })
      .end('this port speaks WebSocket alone\n')
  })
  const servers = [httpServer, wsServer]
  for (const server of servers) {
    server.maxConnections = settings['evm.max_open_connections']
    server.on('upgrade', sockets.upgrade)
  }
  const host = settings['evm.http_host']
  const shown = shownHost(host)
  try {
    const httpPort = await listen(httpServer, host, settings['evm.http_port'], 'evm.http_port')
    const samePort = settings['evm.ws_port'] !== 0 && settings['evm.ws_port'] === httpPort
    const wsPort = samePort ? httpPort : await listen(wsServer, host, settings['evm.ws_port'], 'evm.ws_port')
    return {
      httpUrl: `http://${shown}:${httpPort}`,
      wsUrl: `ws://${shown}:${wsPort}`,
      async stop() {
        sockets.close()
        await Promise.all(servers.filter((server) => server.listening).map(stopListener))
      },
    }
  } catch (e) {
    sockets.close()
    await Promise.all(servers.filter((server) => server.listening).map(stopListener))
    throw e
  }
}
