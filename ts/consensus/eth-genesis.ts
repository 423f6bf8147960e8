// The genesis of the chain in go-ethereum's form: that of a new development network, or a given
// one, adapted for CometBFT.
import { ConsensusError } from './error.ts'
import { PREDEPLOYS } from './predeploys.ts'

/** Chain id of a new network for which none is named. */
export const DEFAULT_CHAIN_ID = 7357

/** Gas limit of the blocks of a new network. */
const GAS_LIMIT = 30_000_000

/** Base fee of its first block, in wei. */
const BASE_FEE = 1_000_000_000

/** Forks that hold from block 0 on, by their names in go-ethereum's configuration. */
const FORK_BLOCKS = [
  'homestead',
  'eip150',
  'eip155',
  'eip158',
  'byzantium',
  'constantinople',
  'petersburg',
  'istanbul',
  'muirGlacier',
  'berlin',
  'london',
  'arrowGlacier',
  'grayGlacier',
  'mergeNetsplit',
]

/** Forks that hold from the time 0 on. */
const FORK_TIMES = ['shanghai', 'cancun', 'prague', 'osaka']

/** What the state root of a header may be: the root of the state trie, or the checksum of a lattice
 * hash, which costs less and has no proofs. */
export const COMMITMENTS = ['mpt', 'lthash'] as const
export type Commitment = (typeof COMMITMENTS)[number]

/** What `config` says of a chain under CometBFT. */
const BFT = { engine: 'cometbft' }

/** A genesis: fields as go-ethereum has them. */
export type EthGenesis = { readonly [field: string]: unknown }

/** An account with a balance in the genesis. */
export interface Funded {
  readonly address: string
  /** In wei. */
  readonly balance: bigint
}

const hex = (n: number | bigint): string => `0x${n.toString(16)}`

/** Names with their values. */
const object = (names: readonly string[], suffix: string): Record<string, number> =>
  Object.fromEntries(names.map((name) => [`${name}${suffix}`, 0]))

/**
 * The genesis of a new network: every fork up to Osaka from the beginning, the contracts that
 * Prague needs, no funded accounts. `time` is in seconds.
 */
export function developmentGenesis(chainId: number, time: number): EthGenesis {
  return {
    config: {
      chainId,
      ...object(FORK_BLOCKS, 'Block'),
      terminalTotalDifficulty: 0,
      ...object(FORK_TIMES, 'Time'),
      bft: BFT,
    },
    nonce: '0x0',
    timestamp: hex(time),
    extraData: '0x',
    gasLimit: hex(GAS_LIMIT),
    difficulty: '0x0',
    coinbase: `0x${'0'.repeat(40)}`,
    baseFeePerGas: hex(BASE_FEE),
    alloc: Object.fromEntries(PREDEPLOYS.map(({ address, code }) => [address, { nonce: '0x1', balance: '0x0', code }])),
  }
}

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** What stands before a number of many digits while it is text. */
const LONG = '\u0001'

/** Strings of JSON, and whole numbers of more digits than a double is sure to keep. */
const STRING_OR_LONG = /"(?:[^"\\]|\\.)*"|(?<![\w.+-])\d{16,}(?![\w.])/g

/**
 * JSON as a value; whole numbers that a double cannot hold keep their text (`writeJson` writes it).
 */
export function readJson(json: string): unknown {
  return JSON.parse(json.replace(STRING_OR_LONG, (word) => (word.startsWith('"') ? word : `"\\u0001${word}"`)))
}

/** A value that `readJson` gave, or one that holds such, as JSON. */
export function writeJson(value: unknown, indent = 2): string {
  return `${JSON.stringify(value, null, indent).replace(/"\\u0001(\d+)"/g, '$1')}\n`
}

/**
 * A number of a genesis: decimal or 0x-hex in a string, or a number; undefined for anything else.
 */
function numberOf(value: unknown): bigint | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  const text = typeof value === 'string' ? value.replace(LONG, '') : ''
  return /^(\d+|0x[0-9a-fA-F]+)$/.test(text) ? BigInt(text) : undefined
}

/** What CometBFT has to know of a genesis. */
export interface GenesisFacts {
  readonly chainId: number
  readonly gasLimit: bigint
  /** Seconds since 1970. */
  readonly time: number
}

/** Reads them; throws `ConsensusError` where one is missing. */
export function factsOf(genesis: EthGenesis): GenesisFacts {
  const config = isObject(genesis.config) ? genesis.config : {}
  const [chainId, gasLimit, time] = [numberOf(config.chainId), numberOf(genesis.gasLimit), numberOf(genesis.timestamp ?? 0)]
  if (chainId === undefined || chainId > BigInt(Number.MAX_SAFE_INTEGER)) throw new ConsensusError('the genesis has no config.chainId')
  if (gasLimit === undefined || gasLimit === 0n) throw new ConsensusError('the genesis has no gasLimit')
  if (time === undefined || time > BigInt(Number.MAX_SAFE_INTEGER)) throw new ConsensusError('the timestamp of the genesis is no number')
  return { chainId: Number(chainId), gasLimit, time: Number(time) }
}

/** Address of the staking contract. */
const STAKING = '0x0000000000000000000000000000000000000800'

/** The genesis with the staking contract; one that has the account already stays as it is. */
export function withStaking(genesis: EthGenesis, account: () => unknown): EthGenesis {
  const alloc = isObject(genesis.alloc) ? genesis.alloc : {}
  if (Object.keys(alloc).some((address) => bare(address) === bare(STAKING))) return genesis
  return { ...genesis, alloc: { ...alloc, [STAKING]: account() } }
}

/** Reads the text of a genesis; throws `ConsensusError`. */
export function parseGenesis(text: string): EthGenesis {
  let value: unknown
  try {
    value = readJson(text)
  } catch (e) {
    throw new ConsensusError(`the genesis is no JSON: ${e instanceof Error ? e.message : String(e)}`)
  }
  if (!isObject(value)) throw new ConsensusError('the genesis is no JSON object')
  return value
}

/** The genesis of a chain under CometBFT with this commitment. */
export function withCommitment(genesis: EthGenesis, commitment: Commitment): EthGenesis {
  const config = isObject(genesis.config) ? genesis.config : {}
  const bft = isObject(config.bft) ? config.bft : BFT
  return { ...genesis, config: { ...config, bft: { ...bft, commitment } } }
}

/** A given genesis, for a chain under CometBFT. `chainId` is the requested one. */
export function underCometbft(genesis: EthGenesis, chainId: number | undefined): EthGenesis {
  const config = isObject(genesis.config) ? genesis.config : {}
  const has = numberOf(config.chainId)
  if (chainId !== undefined && has !== undefined && BigInt(chainId) !== has)
    throw new ConsensusError(`the genesis has the chain id ${has}, not ${chainId}: leave --chain-id out, or change config.chainId`)
  const given = isObject(config.bft) ? config.bft.commitment : undefined
  const bft = { ...BFT, ...(given === undefined ? {} : { commitment: given }) }
  return { ...genesis, config: { ...config, ...(chainId === undefined ? {} : { chainId }), bft } }
}

/** The genesis of a chain that CometBFT decides on from a height on, after the blocks that it has.
 * */
export function underCometbftFrom(genesis: EthGenesis, initialHeight: number): EthGenesis {
  const config = isObject(genesis.config) ? genesis.config : {}
  return { ...genesis, config: { ...config, bft: { ...BFT, initialHeight } } }
}

const bare = (address: string): string => address.toLowerCase().replace(/^0x/, '')

/**
 * The genesis with accounts that have balances; an existing account keeps its code and gets the
 * balance.
 */
export function withFunds(genesis: EthGenesis, accounts: readonly Funded[]): EthGenesis {
  if (accounts.length === 0) return genesis
  const balances = new Map(accounts.map(({ address, balance }) => [bare(address), hex(balance)]))
  const alloc = Object.entries(isObject(genesis.alloc) ? genesis.alloc : {}).map(([address, account]) => {
    const balance = balances.get(bare(address))
    balances.delete(bare(address))
    return [address, balance === undefined || !isObject(account) ? account : { ...account, balance }] as const
  })
  const added = [...balances].map(([address, balance]) => [`0x${address}`, { balance }] as const)
  return { ...genesis, alloc: Object.fromEntries([...alloc, ...added]) }
}
