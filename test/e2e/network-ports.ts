// Ports of nodes that need known ones: below those that the system gives away, which a connection
// of another test may take between the choice and the start of a node.
//
// Those under CometBFT need many. Files run at the same time, so each has a range of its own; so do
// whole runs of the tests, which is why each process has a part of that range.
import { randomInt } from 'node:crypto'
import net from 'node:net'

/** First port of a file's range, ports that a process needs there, and number of processes. */
const RANGES = {
  cometbftKills: { first: 12_000, ports: 100, processes: 20 },
  redirectNetwork: { first: 14_000, ports: 60, processes: 20 },
  cosmosQueries: { first: 15_200, ports: 10, processes: 30 },
  cosmosNatives: { first: 15_500, ports: 60, processes: 20 },
  cometbftLthash: { first: 16_700, ports: 120, processes: 20 },
  cometbft: { first: 20_000, ports: 600, processes: 20 },
} as const

/** The first of the ports of this process for a file. */
export function basePort(file: keyof typeof RANGES): number {
  const { first, ports, processes } = RANGES[file]
  return first + (process.pid % processes) * ports
}

/** The range out of which single ports are chosen. */
const SINGLE = { first: 10_000, ports: 2_000 } as const

/** Ports of it that are tried. */
const TRIES = 100

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = net.createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/** A free port of this machine. */
export async function freePort(): Promise<number> {
  for (let i = 0; i < TRIES; i++) {
    const port = SINGLE.first + randomInt(SINGLE.ports)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port from ${SINGLE.first} on in ${TRIES} tries`)
}
