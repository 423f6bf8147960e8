// config.toml of CometBFT: the keys of a Hearth home that differ from the defaults. Absent keys
// have CometBFT's own defaults.
import { ConsensusError } from './error.ts'

/**
 * State sync: a node begins with a snapshot of its peers, checked against a header that its
 * operator trusts.
 */
export interface StateSync {
  /** RPC of at least two nodes, whose headers are compared. */
  readonly servers: readonly string[]
  readonly trustHeight: number
  /** 64 hex digits. */
  readonly trustHash: string
}

/** What differs between nodes. */
export interface NodeOptions {
  readonly moniker: string
  /** As `ID@HOST:PORT`. */
  readonly peers: readonly string[]
  /**
   * Whether all nodes are on one machine or in a private network: addresses that the internet does
   * not route, several nodes at one address.
   */
  readonly local: boolean
  /** Whether nodes hear of further ones from their peers. */
  readonly exchangesPeers: boolean
  readonly stateSync?: StateSync | undefined
}

/**
 * Longest transaction that the mempool takes, in bytes: those that the pool of the node takes are
 * shorter.
 */
const TX_BYTES_MAX = 1024 * 1024

/**
 * Transactions and bytes of the mempool where CometBFT runs without Hearth's bounds: its defaults.
 */
const [MEMPOOL_SIZE, MEMPOOL_BYTES] = [5000, 1024 * 1024 * 1024]

/** Longest body of a request to CometBFT's RPC, in bytes. */
export const RPC_BODY_BYTES_MAX = 8 * 1024 * 1024

/** Requests in one batch to CometBFT's RPC. */
export const RPC_BATCH_MAX = 1000

type Value = string | number | boolean

const section = (name: string, values: Readonly<Record<string, Value>>): string =>
  [`[${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`), ''].join('\n')

const HEADER = `# Settings of the CometBFT of this Hearth node. Absent keys have CometBFT's defaults. Hearth gives CometBFT what node.toml says in
# [consensus] at each start, and that wins over this file: proxy_app, the addresses of rpc and p2p, type and bounds of the mempool (those of [txpool]), timeout_commit,
# tx_index and the log.
`

/** The text of config.toml. */
export function configToml({ moniker, peers, local, exchangesPeers, stateSync }: NodeOptions): string {
  if (stateSync !== undefined && new Set(stateSync.servers).size < 2)
    throw new ConsensusError('state sync compares the headers of two nodes: --join takes at least two URLs with --trust-height')
  return [
    HEADER,
    `moniker = ${JSON.stringify(moniker)}`,
    'log_format = "json"',
    'log_level = "error"',
    'abci = "socket"',
    '',
    section('rpc', { max_body_bytes: RPC_BODY_BYTES_MAX, max_request_batch_size: RPC_BATCH_MAX }),
    section('p2p', {
      persistent_peers: peers.join(','),
      addr_book_strict: !local,
      allow_duplicate_ip: local,
      pex: exchangesPeers,
    }),
    // The last three keys are read from version 0.40 on: the intervals at which transactions of the
    // node's pool are requested.
    // CometBFT takes a variable of the environment only for a key that the file has
    // (libs/cli/setup.go: viper's AutomaticEnv): type, size and max_txs_bytes are such keys.
    section('mempool', {
      type: 'flood',
      size: MEMPOOL_SIZE,
      max_txs_bytes: MEMPOOL_BYTES,
      max_tx_bytes: TX_BYTES_MAX,
      reap_interval: '100ms',
      check_tx_retry_delay: '5s',
      seen_cache_size: 100_000,
    }),
    section('statesync', {
      enable: stateSync !== undefined,
      rpc_servers: stateSync?.servers.join(',') ?? '',
      trust_height: stateSync?.trustHeight ?? 0,
      trust_hash: stateSync?.trustHash ?? '',
      discovery_time: '5s',
    }),
    section('consensus', { timeout_commit: '1s', create_empty_blocks: true }),
    section('tx_index', { indexer: 'kv' }),
  ].join('\n')
}
