// Opening and closing one listener.
import type http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { isSending } from './connections.ts'
import type { FastPath } from './fast-path.ts'

/** How often a listener that stops looks for connections that have become idle, in milliseconds. */
const IDLE_CHECK_MS = 20

/**
 * How long an accepted connection may stay without a request while a listener stops, in
 * milliseconds.
 */
const SETTLE_MS = 100

/** A port cannot be had: the message says which and why. */
export class ListenError extends Error {
  override name = 'ListenError'
}

/**
 * Codes of a host that has no address: no such name (getaddrinfo), or no name server that answers.
 */
const UNKNOWN_HOST_CODES: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME'])

/**
 * Why a port is not available, and what helps: the setting of the host has the same name as that of
 * the port.
 */
function refusal(e: NodeJS.ErrnoException, host: string, portSetting: string): string {
  const hostSetting = portSetting.replace(/port$/, 'host')
  const choose = `Choose an address of this machine with --${hostSetting}=ADDRESS: 127.0.0.1 for this machine alone, 0.0.0.0 for all of its networks.`
  if (UNKNOWN_HOST_CODES.has(e.code ?? '')) return `the host ${host} is unknown (${e.code}). ${choose}`
  if (e.code === 'EADDRNOTAVAIL') return `this machine does not have the address ${host}. ${choose}`
  const why = e.code === 'EADDRINUSE' ? 'another process has it' : e.message
  return `${why}. Choose another port with --${portSetting}=PORT.`
}

/**
 * Listens; resolves to the port. Rejects with `ListenError`, which names the setting to change:
 * that of the port or of the host.
 */
export function listen(server: net.Server, host: string, port: number, setting: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (e: NodeJS.ErrnoException) => {
      reject(new ListenError(`cannot listen on ${shownHost(host)}:${port}: ${refusal(e, host, setting)}`))
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
 * Accepts no more connections, lets answers in progress finish for at most `withinMs` milliseconds,
 * then closes the rest. A connection that was just accepted may still bring its request; those that
 * bring none for a while are closed.
 */
export const stopListener = (server: http.Server, withinMs: number, fastPath?: FastPath): Promise<void> =>
  new Promise((resolve) => {
    const closeIdle = (): void => {
      fastPath?.closeIdle()
      if (!isSending(server)) server.closeIdleConnections()
    }
    const closeAll = (): void => {
      fastPath?.closeAll()
      server.closeAllConnections()
    }
    // Right after the loop has accepted the waiting connections: the system cuts off those that are
    // not accepted.
    setImmediate(() => {
      const timer = setTimeout(closeAll, withinMs)
      let idle: NodeJS.Timeout | undefined
      const settled = setTimeout(
        () => {
          // A connection whose answer has just been sent is idle: a client that keeps it must not
          // hold the node.
          idle = setInterval(closeIdle, IDLE_CHECK_MS)
          closeIdle()
        },
        Math.min(SETTLE_MS, withinMs),
      )
      // `close` of http.Server would end idle connections at once, so net.Server's closes the port
      // first.
      net.Server.prototype.close.call(server, () => {
        clearTimeout(timer)
        clearTimeout(settled)
        clearInterval(idle)
        // Clears http.Server's timer that checks connections, which would keep the server in
        // memory.
        server.close()
        resolve()
      })
    })
  })
