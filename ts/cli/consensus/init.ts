// hearth init --cometbft: makes a home for a new network of one validator, or for an existing
// network.
import type { Settings } from '../../config/index.ts'
import type { StateSync } from '../../consensus/config-toml.ts'
import { factsOf } from '../../consensus/eth-genesis.ts'
import { appStateOf, genesisFile, networkName } from '../../consensus/genesis.ts'
import { fetchNetwork, joinUrls } from '../../consensus/join.ts'
import { engineHome } from '../../consensus/layout.ts'
import { settingsFile } from '../../node/settings-file.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { STOPPED_EXIT } from '../commands/job.ts'
import { genesisOf, numberFlag, stakedGenesis, UNBONDING_SECONDS } from './flags.ts'
import { checkNew, makeNetworkHome, type NewHome, newNodeKeys } from './make-home.ts'

/** Flags that only make sense together with another one. */
const NEEDS: Readonly<Record<string, string>> = { 'trust-height': 'join', 'trust-hash': 'join' }

/** Flags that describe a new network. */
const OF_NEW = ['genesis', 'chain-id', 'dev-accounts', 'commitment', 'operator']

function stateSyncOf(parsed: Parsed, servers: readonly string[]): StateSync | undefined {
  const trustHeight = numberFlag(parsed, 'trust-height', 1, Number.MAX_SAFE_INTEGER)
  const trustHash = parsed.flags.get('trust-hash')?.replace(/^0x/, '')
  if (trustHeight === undefined && trustHash === undefined) return undefined
  if (trustHeight === undefined || trustHash === undefined) throw new UsageError('--trust-height and --trust-hash belong together')
  if (!/^[0-9a-fA-F]{64}$/.test(trustHash)) throw new UsageError('--trust-hash takes the hash of a block of CometBFT: 64 hex digits')
  return { servers, trustHeight, trustHash: trustHash.toUpperCase() }
}

/** A home for a network that runs. */
async function joining(parsed: Parsed, home: string, list: string): Promise<NewHome> {
  const other = OF_NEW.find((name) => parsed.flags.has(name))
  if (other !== undefined) throw new UsageError(`--join takes the genesis of the network: leave --${other} out`)
  const urls = joinUrls(list)
  const stateSync = stateSyncOf(parsed, urls)
  const { genesis, peers, local } = await fetchNetwork(urls)
  const options = { moniker: 'follower', peers, local, exchangesPeers: true, stateSync }
  return { home, keys: newNodeKeys(), options, appState: appStateOf(genesis), genesis, values: {} }
}

/** A home for a new network of one validator. */
function beginning(parsed: Parsed, home: string, settings: Settings): NewHome {
  const missing = Object.entries(NEEDS).find(([name]) => parsed.flags.has(name))
  if (missing !== undefined) throw new UsageError(`--${missing[0]} goes with --${missing[1]}`)
  const now = Date.now()
  const operator = parsed.flags.get('operator')
  if (operator !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(operator))
    throw new UsageError(`--operator takes an address, not ${JSON.stringify(operator)}`)
  const keys = newNodeKeys()
  const validators = [{ name: 'node0', key: keys.validatorKey }]
  const appState = stakedGenesis(genesisOf(parsed, settings, now), validators, UNBONDING_SECONDS, operator)
  const genesis = genesisFile(appState, validators, now)
  const options = { moniker: 'node0', peers: [], local: false, exchangesPeers: true }
  return { home, keys, options, appState, genesis, values: {} }
}

/** Makes the home; resolves to the exit code. */
export async function initNetwork(parsed: Parsed, home: string, settings: Settings, terminal: Terminal): Promise<number> {
  checkNew(home)
  const list = parsed.flags.get('join')
  const made = list === undefined ? beginning(parsed, home, settings) : await joining(parsed, home, list)
  const head = await makeNetworkHome(made, settings, terminal)
  if (head === undefined) return STOPPED_EXIT
  terminal.out(`settings: ${settingsFile(home)}\n`)
  terminal.out(`cometbft: ${engineHome(home)}\n`)
  terminal.out(`network: ${networkName(factsOf(made.appState).chainId)}${list === undefined ? ', this node is its validator' : ''}\n`)
  terminal.out(`genesis: ${head}\n`)
  terminal.out(`to start it: hearth start --home ${home}\n`)
  return 0
}
