// Ports of networks, which need many known ones in a row: below those that the system gives away,
// and beside those of test/free-port.mjs. Files run at the same time, so each has a range of its
// own; so do whole runs of the tests, which is why each process has a part of that range.

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
