// A network of nodes on one machine: their names, ports and connections.

/** What a node listens on, in the order of its ports. */
export const PORT_NAMES = ['p2p', 'rpc', 'http', 'ws', 'metrics', 'grpc', 'rest'] as const

/** Between the first ports of two nodes. */
export const PORTS_PER_NODE = 10

/** The setting of each port. */
export const PORT_SETTINGS: Readonly<Record<(typeof PORT_NAMES)[number], string>> = {
  p2p: 'consensus.p2p_port',
  rpc: 'consensus.rpc_port',
  http: 'evm.http_port',
  ws: 'evm.ws_port',
  metrics: 'metrics.port',
  grpc: 'grpc.port',
  rest: 'rest.port',
}

/** A node of the network. */
export interface TestnetNode {
  readonly name: string
  readonly role: 'validator' | 'follower'
  readonly ports: Readonly<Record<(typeof PORT_NAMES)[number], number>>
}

/** The nodes of a network: validators first. */
export function testnetNodes(validators: number, followers: number, basePort: number): TestnetNode[] {
  const named = [
    ...Array.from({ length: validators }, (_, i) => ({ name: `node${i}`, role: 'validator' as const })),
    ...Array.from({ length: followers }, (_, i) => ({ name: `follower${i}`, role: 'follower' as const })),
  ]
  return named.map((node, i) => {
    const first = basePort + PORTS_PER_NODE * i
    const ports = Object.fromEntries(PORT_NAMES.map((name, k) => [name, first + k])) as TestnetNode['ports']
    return { ...node, ports }
  })
}

/** Largest first port with which all ports of so many nodes exist. */
export const basePortMax = (nodes: number): number => 65_535 - PORTS_PER_NODE * (nodes - 1) - (PORT_NAMES.length - 1)
