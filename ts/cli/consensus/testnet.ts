// The homes of a network on one machine, and the file that lists them.
import fs from 'node:fs'
import path from 'node:path'
import { factsOf } from '../../consensus/eth-genesis.ts'
import { genesisFile, networkName } from '../../consensus/genesis.ts'
import { nodeId, validatorAddress } from '../../consensus/keys.ts'
import { basePortMax, PORT_NAMES, PORT_SETTINGS, type TestnetNode, testnetNodes } from '../../consensus/testnet.ts'
import type { Parsed } from '../args.ts'
import type { Terminal } from '../command.ts'
import { settingsOf } from '../home.ts'
import { genesisOf, numberFlag, stakedGenesis, TESTNET_UNBONDING_SECONDS, UNBONDING_SECONDS } from './flags.ts'
import { type ChainSource, chainSource } from './from-home.ts'
import { makeNetworkHome, type NodeKeys, newNodeKeys } from './make-home.ts'

/** Where all nodes are. */
const HOST = '127.0.0.1'

/** What is to be made. */
export interface Testnet {
  readonly dir: string
  readonly validators: number
  readonly followers: number
  /** First port where the flags name none. */
  readonly basePort: number
}

type KeyedNode = TestnetNode & { readonly keys: NodeKeys }

/** Addresses of all other nodes. */
const peersOf = (nodes: readonly KeyedNode[], own: KeyedNode): string[] =>
  nodes.filter((node) => node !== own).map(({ keys, ports }) => `${nodeId(keys.nodeKey)}@${HOST}:${ports.p2p}`)

/** What the node.toml of a node says. */
const valuesOf = ({ ports }: TestnetNode, nodes: readonly KeyedNode[]): Record<string, unknown> => ({
  ...Object.fromEntries(PORT_NAMES.map((name) => [PORT_SETTINGS[name], ports[name]])),
  'consensus.p2p_host': HOST,
  'consensus.validator_rpc': nodes
    .filter(({ role }) => role === 'validator')
    .map((node) => `${validatorAddress(node.keys.validatorKey).toLowerCase()}=http://${HOST}:${node.ports.http}`),
})

/** Makes them; whether that was done before a signal. A failure leaves nothing. */
export async function makeTestnet(parsed: Parsed, { dir, validators, followers, basePort }: Testnet, terminal: Terminal): Promise<boolean> {
  const { settings } = settingsOf(parsed, undefined, terminal)
  const first = numberFlag(parsed, 'base-port', 1, basePortMax(validators + followers)) ?? basePort
  const unbonding = numberFlag(parsed, 'unbonding-seconds', 1, UNBONDING_SECONDS) ?? TESTNET_UNBONDING_SECONDS
  const now = Date.now()
  const isNew = !fs.existsSync(dir)
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 })
  const nodes = testnetNodes(validators, followers, first).map((node): KeyedNode => ({ ...node, keys: newNodeKeys() }))
  const homeOf = ({ name }: TestnetNode): string => path.join(dir, name)
  let source: ChainSource | undefined
  let isDone = false
  try {
    const found = await chainSource(parsed, dir, settings, terminal)
    if (found === 'stopped') return false
    source = found
    const voting = nodes.filter(({ role }) => role === 'validator').map(({ name, keys }) => ({ name, key: keys.validatorKey }))
    // A chain that has blocks already keeps its genesis.
    const appState = source?.appState ?? stakedGenesis(genesisOf(parsed, settings, now), voting, unbonding)
    const genesis = genesisFile(appState, voting, now, source?.head, unbonding)
    for (const node of nodes) {
      // Addresses that CometBFT knows by itself are dialled at once after a start, those of the
      // setting after up to three seconds (p2p/pex/pex_reactor.go, p2p/switch.go).
      const options = { moniker: node.name, peers: peersOf(nodes, node), local: true, exchangesPeers: true }
      const { keys } = node
      const made = { home: homeOf(node), keys, options, appState, genesis, values: valuesOf(node, nodes) }
      const isMade = source === undefined ? (await makeNetworkHome(made, settings, terminal)) !== undefined : await source.copyTo(made)
      if (!isMade) return false
    }
    const list = nodes.map((node) => ({ name: node.name, role: node.role, home: homeOf(node), ports: node.ports }))
    const chainId = networkName(factsOf(appState).chainId)
    fs.writeFileSync(path.join(dir, 'testnet.json'), `${JSON.stringify({ chain_id: chainId, nodes: list }, null, 2)}\n`)
    isDone = true
    terminal.out(`network: ${chainId}, ${validators} validators and ${followers} followers\n`)
    for (const node of nodes) terminal.out(`${node.name}: JSON-RPC on port ${node.ports.http}: hearth start --home ${homeOf(node)}\n`)
    return true
  } finally {
    source?.remove()
    if (!isDone) {
      for (const node of nodes) fs.rmSync(homeOf(node), { recursive: true, force: true })
      if (isNew) fs.rmSync(dir, { recursive: true, force: true })
    }
  }
}
