// Words of geth, reth, anvil and hardhat that users type out of habit. A word with the meaning of a
// flag of Hearth is accepted; for others the error names what does the job here.
import type { SettingKey } from '../config/index.ts'

/**
 * Flags of other programs that mean the same as a flag of Hearth: a command's own flag, or a
 * setting.
 */
export const SAME_FLAGS: Readonly<Record<string, SettingKey | 'home' | (string & {})>> = {
  // geth and reth
  datadir: 'home',
  http: 'evm.http_enabled',
  'http.addr': 'evm.http_host',
  'http.port': 'evm.http_port',
  'http.api': 'evm.namespaces',
  'http.corsdomain': 'evm.cors_origins',
  'http.vhosts': 'evm.allowed_hosts',
  ws: 'evm.ws_enabled',
  'ws.addr': 'evm.ws_host',
  'ws.port': 'evm.ws_port',
  'ws.origins': 'evm.ws_origins',
  'authrpc.addr': 'engine.host',
  'authrpc.port': 'engine.port',
  'authrpc.jwtsecret': 'engine.jwt_secret_file',
  'rpc.gascap': 'evm.simulation_gas_limit',
  'rpc.evmtimeout': 'evm.simulation_evm_timeout',
  'rpc.allow-unprotected-txs': 'evm.allow_unprotected_txs',
  'rpc.batch-request-limit': 'evm.batch_request_limit',
  'rpc.batch-response-max-size': 'evm.batch_response_max_size',
  'rpc.max-connections': 'evm.max_open_connections',
  'rpc.max-logs-per-response': 'evm.max_log_no_block',
  'rpc.max-blocks-per-filter': 'evm.max_blocks_for_log',
  metrics: 'metrics.enabled',
  'metrics.addr': 'metrics.host',
  'txpool.pricebump': 'txpool.price_bump_percent',
  'txpool.pricelimit': 'txpool.min_tip_wei',
  // anvil and hardhat node
  'allow-origin': 'evm.cors_origins',
  'rpc-url': 'fork-url',
  fork: 'fork-url',
  'fork-block-number': 'fork-block',
  'no-mine': 'no-mining',
  'block-base-fee-per-gas': 'base-fee',
  hostname: 'host',
  quiet: 'silent',
}

/** Letters that stand for flags, as anvil has them. */
export const SHORT_FLAGS: Readonly<Record<string, string>> = {
  p: 'port',
  a: 'accounts',
  m: 'mnemonic',
  f: 'fork-url',
  b: 'block-time',
  q: 'silent',
  v: 'verbose',
  vv: 'verbose',
  vvv: 'verbose',
  vvvv: 'verbose',
  vvvvv: 'verbose',
}

const NO_PEERS = 'hearth has no peers: `hearth import` or a consensus client (--engine) brings its blocks'
const ALL_STATE = 'hearth keeps the state of every block; state-commit.flatkv.state_history_blocks limits that'
const GENESIS = 'the chain is that of a genesis file: `hearth init --genesis FILE` or `hearth import --genesis FILE`'
const KEYS = 'hearth keeps no keys: sign in a wallet, or use the accounts of `hearth dev`'
const NO_IPC = 'hearth has no IPC socket: it serves HTTP and WebSocket on the loopback address'
const DEV_COMMAND = 'a development chain is a command of its own: `hearth dev`'
const CACHE = 'state-commit.flatkv.memory_budget_bytes is the memory of the state store'
const ONE_FORK = 'a development chain has the rules of the fork that --hardfork names'
const NO_ETHEREUM_BLOCKS = 'hearth reads no beacon chain: `hearth import` or a consensus client (--engine) brings blocks'
const TRACING = 'traces need no flag: debug_traceTransaction answers for every transaction'

/**
 * Flags of other programs without an equal here, with what to use; a name that ends in * is a
 * prefix.
 */
export const OTHER_FLAGS: Readonly<Record<string, string>> = {
  bootnodes: NO_PEERS,
  'discovery.*': NO_PEERS,
  maxpeers: NO_PEERS,
  nat: NO_PEERS,
  nodiscover: NO_PEERS,
  syncmode: NO_PEERS,
  gcmode: ALL_STATE,
  full: ALL_STATE,
  'history.*': ALL_STATE,
  'prune*': ALL_STATE,
  'state.scheme': ALL_STATE,
  chain: GENESIS,
  networkid: GENESIS,
  mainnet: GENESIS,
  sepolia: GENESIS,
  hoodi: GENESIS,
  init: GENESIS,
  keystore: KEYS,
  password: KEYS,
  unlock: KEYS,
  'ipc*': NO_IPC,
  dev: DEV_COMMAND,
  'dev.period': DEV_COMMAND,
  'dev.gaslimit': DEV_COMMAND,
  mine: DEV_COMMAND,
  'miner.*': DEV_COMMAND,
  'cache*': CACHE,
  'steps-tracing': TRACING,
  tracing: TRACING,
  'print-traces': TRACING,
  'vmtrace*': TRACING,
  'no-storage-caching': '--dev.fork_cache_bytes bounds what is kept of the state of a fork’s origin',
  'fork-retry-backoff': '--fork-timeout bounds all attempts together',
  retries: '--fork-timeout bounds all attempts together',
  'compute-units-per-second': '--fork-timeout bounds all attempts together',
  'no-rate-limit': 'requests to the origin of a fork are not limited in number',
  'fork-chain-id': '--chain-id is the id that transactions are signed with',
  'mnemonic-random': '--mnemonic takes a phrase',
  'mnemonic-seed-unsafe': '--mnemonic takes a phrase',
  'derivation-path': 'accounts have the paths m/44’/60’/0’/0/N of the phrase of --mnemonic',
  'config-out': '--json prints accounts, keys and addresses as a line of JSON',
  'max-persisted-states': ALL_STATE,
  'preserve-historical-states': ALL_STATE,
  'transaction-block-keeper': ALL_STATE,
  'slots-in-an-epoch': 'the blocks safe and finalized are the head of a development chain',
  'state-interval': '--home keeps the chain on disk after each block',
  odyssey: ONE_FORK,
  celo: ONE_FORK,
  network: ONE_FORK,
  'override.*': ONE_FORK,
  'beacon.*': NO_ETHEREUM_BLOCKS,
  'memory-limit': 'the memory of a call is bounded by its gas: --evm.simulation_gas_limit',
  'disable-block-gas-limit': '--gas-limit takes up to 1000000000000',
  'disable-console-log': '--silent prints nothing but errors',
  'ws.api': '--evm.namespaces holds for HTTP and WebSocket',
  'rpc.txfeecap': '--evm.tx_fee_cap_gwei takes the cap in gwei, not in ether',
  'gas-price': '--base-fee is the base fee of the first block',
  timeout: '--fork-timeout takes a duration such as 30s',
  config: 'settings are read from config/node.toml of the data directory; `hearth init` writes it',
  verbosity: '--log.level takes silent, error, warn, info or debug',
  'log.json': '--log.format=json',
  'no-cors': '--evm.cors_origins= (empty) lets no web page read answers',
}

/** Commands of other programs, and words that fit, with what to use; by the command before them. */
export const OTHER_COMMANDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  hearth: {
    node: '`hearth start` serves a data directory, `hearth dev` runs a development chain',
    run: '`hearth start` serves a data directory, `hearth dev` runs a development chain',
    serve: '`hearth start`',
    rollback: '`hearth db rollback`',
    repair: '`hearth db repair`',
    verify: '`hearth db verify`',
    snapshot: '`hearth db snapshot`',
    dump: '`hearth db dump`',
    inspect: '`hearth db info` for the sizes of the stores, `hearth db ls` for those of the tables',
    info: '`hearth db info`, or `hearth status` for a running node',
    removedb: 'stop the node and remove the folder data of the data directory',
    copydb: '`hearth backup`',
    dumpconfig: '`hearth config print`',
    dumpgenesis: 'the genesis is config/genesis.json of the data directory',
    account: KEYS,
    wallet: KEYS,
    attach: 'hearth has no console: `cast rpc METHOD --rpc-url URL` sends a request to a node, `hearth status` describes it',
    console: 'hearth has no console: `cast rpc METHOD --rpc-url URL` sends a request to a node, `hearth status` describes it',
  },
  'hearth db': {
    inspect: '`hearth db info` for the sizes of the stores, `hearth db ls` for those of the tables',
    stat: '`hearth db info` for the sizes of the stores, `hearth db table-info` for the tables',
    stats: '`hearth db info` for the sizes of the stores, `hearth db table-info` for the tables',
    check: '`hearth db verify` for the state and the ledger, `hearth db scrub` for the checksums of the tables',
    compact: 'the stores compact themselves',
    drop: 'stop the node and remove the folder data of the data directory',
    clear: 'stop the node and remove the folder data of the data directory',
  },
}

/**
 * What to use instead of a flag without an equal here; undefined if the flag is not known either.
 */
export function answerToFlag(name: string): string | undefined {
  if (Object.hasOwn(OTHER_FLAGS, name)) return OTHER_FLAGS[name]
  const beginning = Object.keys(OTHER_FLAGS).find((key) => key.endsWith('*') && name.startsWith(key.slice(0, -1)))
  return beginning === undefined ? undefined : OTHER_FLAGS[beginning]
}

/** What to use in place of a command behind the words `before`. */
export function answerToCommand(before: string, name: string): string | undefined {
  const answers = OTHER_COMMANDS[before] ?? {}
  return Object.hasOwn(answers, name) ? answers[name] : undefined
}
