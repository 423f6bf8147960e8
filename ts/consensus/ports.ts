// Ports that CometBFT is to listen on, checked before it is started, so that the error names the
// reason in one sentence.
import net from 'node:net'
import { ConsensusError } from './error.ts'

const shown = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** An address for CometBFT. */
export const listenUrl = (host: string, port: number): string => `tcp://${shown(host)}:${port}`

/** Where a client on this machine reaches a listener. */
export function reachUrl(host: string, port: number): string {
  const at = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${shown(at)}:${port}`
}

/**
 * The port that a setting names, or a free one if it is 0. Rejects with `ConsensusError` if the
 * port is not available.
 */
export function freePort(host: string, port: number, setting: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer()
    probe.once('error', (e: NodeJS.ErrnoException) => {
      const why = e.code === 'EADDRINUSE' ? 'another process has it' : e.message
      reject(new ConsensusError(`CometBFT cannot listen on ${shown(host)}:${port}: ${why}. Choose another port with --${setting}=PORT.`))
    })
    probe.listen({ host, port, exclusive: true }, () => {
      const { port: got } = probe.address() as net.AddressInfo
      probe.close(() => resolve(got))
    })
  })
}
