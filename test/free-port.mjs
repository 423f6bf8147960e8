// Ports for servers that need one that is known before they start. They are below those that the
// system gives to outgoing connections (32768 and up, on Linux): one of these may be taken by a
// connection of another program between the choice and the start of the server.
import { randomInt } from 'node:crypto'
import net from 'node:net'

/** The range out of which single ports are chosen; test/e2e/network-ports.ts has others. */
export const SINGLE = /** @type {const} */ ({ first: 10_000, ports: 2_000 })

/** Ports of it that are tried. */
const TRIES = 100

/** Ports of it that `fetch` and browsers refuse to connect to (https://fetch.spec.whatwg.org). */
const REFUSED = 10_080

/** What this process has chosen: the server of a port that was chosen may not listen yet. */
const chosen = new Set([REFUSED])

/** @type {(port: number) => Promise<boolean>} */
const isFree = (port) =>
  new Promise((resolve) => {
    const server = net.createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/**
 * A free port of this machine, another one each time.
 * @type {() => Promise<number>}
 */
export async function freePort() {
  for (let i = 0; i < TRIES; i++) {
    const port = SINGLE.first + randomInt(SINGLE.ports)
    if (chosen.has(port)) continue
    chosen.add(port)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port from ${SINGLE.first} on in ${TRIES} tries`)
}
