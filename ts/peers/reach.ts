// Whether a node can be reached, without a request to it.
import net from 'node:net'

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** Whether a TCP connection to the host and port of a URL opens in time; it is closed again. */
export function canConnect(url: string, timeoutMs: number): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  const socket = net.connect({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (PORTS[protocol] ?? 80) : Number(port),
  })
  return new Promise((resolve) => {
    const end = (isOpen: boolean): void => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.setTimeout(timeoutMs, () => end(false))
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}
