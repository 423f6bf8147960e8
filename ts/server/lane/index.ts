// Lanes: a way for JSON-RPC over HTTP that is shorter than node:http's, for requests that are plainly ordinary and answers that need no
// waiting. node:http makes four objects, two streams and a dozen events for a request, which take longer than most short reads.
//
// A lane takes a request only where its whole text came in one piece and nothing about it needs a second look: see head.ts. At anything
// else the connection becomes node:http's, with every byte that was read, so that all refusals and all odd cases have one place.
import type http from 'node:http'
import type { Socket } from 'node:net'
import type { AppOptions } from '../app.ts'
import { Heads } from './head.ts'
import { Lane, type LaneRules } from './lane.ts'

/** Clocks of a connection, in milliseconds. */
export interface LaneClocks {
  /** How long it may be silent before its first request. */
  readonly firstMs: number
  /** How long it may be idle between requests. */
  readonly idleMs: number
}

type Listener = (socket: Socket) => void

/** Puts lanes before a server's own way. Connections in lanes count for the server's `close…Connections` too. */
export function openLanes(server: http.Server, options: AppOptions, clocks: LaneClocks): void {
  // Tokens and JWTs are looked at by the ordinary way alone.
  if (options.authentication !== undefined) return
  const ordinary = server.listeners('connection') as Listener[]
  const lanes = new Set<Lane>()
  const rules: LaneRules = {
    options,
    ...clocks,
    heads: new Heads(options),
    handOver(socket, read) {
      for (const listener of ordinary) listener.call(server, socket)
      for (const bytes of read) socket.emit('data', bytes)
    },
    left: (lane) => lanes.delete(lane),
  }
  server.removeAllListeners('connection')
  server.on('connection', (socket) => lanes.add(new Lane(socket, rules)))
  const { closeIdleConnections, closeAllConnections } = server
  server.closeIdleConnections = () => {
    for (const lane of lanes) if (lane.idle) lane.destroy()
    closeIdleConnections.call(server)
  }
  server.closeAllConnections = () => {
    for (const lane of lanes) lane.destroy()
    closeAllConnections.call(server)
  }
}
