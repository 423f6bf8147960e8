// Opening and closing one listener.
import type http from 'node:http'
import type { AddressInfo } from 'node:net'
import { STOP_MS_MAX } from './limits.ts'

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

/** Takes no more connections, lets answers under way finish for a while, then closes what is left. */
export const stopListener = (server: http.Server): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), STOP_MS_MAX)
    server.close(() => {
      clearTimeout(timer)
      resolve()
    })
    server.closeIdleConnections()
  })
