// Opening and closing one listener.
import type http from 'node:http'
import net, { type AddressInfo } from 'node:net'

/** How often a listener that stops looks for connections that have become idle, in milliseconds. */
const IDLE_CHECK_MS = 20

/** How long a connection that has been taken may go without a request while a listener stops, in milliseconds. */
const SETTLE_MS = 100

/** A port cannot be had: the message says which and why. */
export class ListenError extends Error {
  override name = 'ListenError'
}

/** Listens; resolves to the port. Rejects with `ListenError`, which names the setting of the port. */
export function listen(server: http.Server, host: string, port: number, setting: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (e: NodeJS.ErrnoException) => {
      const why = e.code === 'EADDRINUSE' ? 'another process has it' : e.message
      reject(new ListenError(`cannot listen on ${host}:${port}: ${why}. Choose another port with --${setting}=PORT.`))
    })
    server.listen(port, host, () => {
      server.removeAllListeners('error')
      resolve((server.address() as AddressInfo).port)
    })
  })
}

/** A host as it stands in a URL. */
export const shownHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/**
 * Takes no more connections, lets answers under way finish for at most `withinMs` milliseconds, then closes what is left. A connection that
 * has just been taken may still bring its request; those that bring none for a while are closed.
 */
export const stopListener = (server: http.Server, withinMs: number): Promise<void> =>
  new Promise((resolve) => {
    // Right after the loop has taken the connections that were waiting: the system cuts off those that nobody has taken.
    setImmediate(() => {
      const timer = setTimeout(() => server.closeAllConnections(), withinMs)
      let idle: NodeJS.Timeout | undefined
      const settled = setTimeout(
        () => {
          // A connection whose answer has just left is idle: a client that keeps it must not hold the node.
          idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
          server.closeIdleConnections()
        },
        Math.min(SETTLE_MS, withinMs),
      )
      // `close` of http.Server would end idle connections at once, so net.Server's closes the port first.
      net.Server.prototype.close.call(server, () => {
        clearTimeout(timer)
        clearTimeout(settled)
        clearInterval(idle)
        // Clears http.Server's timer that checks connections, which would keep the server in memory.
        server.close()
        resolve()
      })
    })
  })
