// [dev]: the development chain, and what it is a fork of.
import { boolean, integer, type Kind, oneWord, or, Refused, text } from '../parsers.ts'
import { bytes, duration, formatDuration, parseDuration } from '../units.ts'
import { GIB, HOUR, MIB, SECOND, setting } from './shared.ts'

/** The mnemonic of development chains; the keys of its accounts are known to everyone. */
export const DEV_MNEMONIC = 'test test test test test test test test test test test junk'

/** Newest forks of a chain, oldest first, as `dev.hardfork` names them. */
export const HARDFORKS = [
  'homestead',
  'tangerineWhistle',
  'spuriousDragon',
  'byzantium',
  'constantinople',
  'petersburg',
  'istanbul',
  'berlin',
  'london',
  'paris',
  'shanghai',
  'cancun',
  'prague',
  'osaka',
] as const

/** A time between blocks, in milliseconds: seconds without a unit, or a duration. */
function blockTime(max: number): Kind<number> {
  const takes = `seconds such as 2 or 0.5, or a duration such as 500ms, up to ${formatDuration(max)}`
  const check = (value: unknown): number => {
    const word = String(value)
    const ms = parseDuration(/^\d+(\.\d+)?$/.test(word) ? `${word}s` : word)
    if (ms === undefined || !Number.isSafeInteger(ms) || ms < 1 || ms > max)
      throw new Refused(`takes ${takes}, not ${JSON.stringify(value)}`)
    return ms
  }
  return { takes, check, parse: check, plain: formatDuration }
}

/** Settings of the development chain. */
export const DEV = {
  'dev.gas_limit': setting({
    core: 'dev.gasLimit',
    kind: or('auto', integer(1_000_000, 1_000_000_000_000)),
    default: 'auto' as number | 'auto',
    unit: 'gas',
    doc: 'Gas limit of every block; auto is 30000000, for a fork that of the remote chain.',
  }),
  'dev.chain_id': setting({
    core: 'dev.chainId',
    kind: or('auto', integer(1, Number.MAX_SAFE_INTEGER)),
    default: 'auto' as number | 'auto',
    doc: 'Chain id of a new chain; auto is 31337, for a fork that of the remote chain.',
  }),
  'dev.hardfork': setting({
    core: 'dev.hardfork',
    kind: or('auto', oneWord(...HARDFORKS)),
    default: 'auto' as (typeof HARDFORKS)[number] | 'auto',
    doc: 'Hard fork that is active from the first block on; auto is the newest one.',
  }),
  'dev.base_fee': setting({
    core: 'dev.baseFeeWei',
    kind: or('auto', integer(0, Number.MAX_SAFE_INTEGER)),
    default: 'auto' as number | 'auto',
    unit: 'wei',
    doc: 'Base fee of the first block of a new chain; auto is 1000000000.',
  }),
  'dev.timestamp': setting({
    core: 'dev.timestamp',
    kind: or('now', integer(0, 2 ** 40)),
    default: 'now' as number | 'now',
    unit: 's',
    doc: 'Time of the first block of a new chain, in seconds since 1970; the clock continues from there.',
  }),
  'dev.accounts': setting({
    core: 'dev.accounts',
    kind: integer(1, 10_000),
    default: 10,
    doc: 'Number of funded accounts.',
  }),
  'dev.mnemonic': setting({
    core: 'dev.mnemonic',
    kind: text('the words of a BIP-39 phrase', /^\S+( \S+){11,23}$/),
    default: DEV_MNEMONIC,
    doc: 'The phrase that the accounts are derived from, along m/44’/60’/0’/0/N.',
  }),
  'dev.balance': setting({
    core: 'dev.balanceWei',
    kind: text('a number of ether such as 10000 or 0.5', /^\d{1,30}(\.\d{1,18})?$/),
    default: '10000',
    unit: 'ether',
    doc: 'Balance of each funded account on a new chain.',
  }),
  'dev.block_time': setting({
    core: 'dev.blockTimeMs',
    kind: or('none', blockTime(HOUR)),
    default: 'none' as number | 'none',
    doc: 'Time between blocks, which are made with or without transactions; none makes a block for each transaction.',
  }),
  'dev.mixed_mining': setting({
    core: 'dev.mixedMining',
    kind: boolean,
    default: false,
    doc: 'Whether each transaction is mined at once, in addition to the blocks of dev.block_time.',
  }),
  'dev.no_mining': setting({
    core: 'dev.noMining',
    kind: boolean,
    default: false,
    doc: 'Whether blocks are made only on demand: evm_mine, anvil_mine, hardhat_mine.',
  }),
  'dev.order': setting({
    core: 'dev.order',
    kind: oneWord('fees', 'fifo'),
    default: 'fees' as 'fees' | 'fifo',
    doc: 'Order of transactions in a block: fees: highest fee first; fifo: oldest first.',
  }),
  'dev.auto_impersonate': setting({
    core: 'dev.autoImpersonate',
    kind: boolean,
    default: false,
    doc: 'Whether eth_sendTransaction accepts any sender, without its key.',
  }),
  'dev.code_size_limit': setting({
    core: 'dev.codeSizeLimit',
    kind: or('auto', or('none', integer(1, Number.MAX_SAFE_INTEGER))),
    default: 'auto' as number | 'auto' | 'none',
    unit: 'bytes',
    doc: 'Size of the largest contract on a new chain; init code may be twice as long. auto is 24576 (EIP-170), none has no limit. The limit is stored with the chain.',
  }),
  'dev.throw_on_revert': setting({
    core: 'dev.throwOnRevert',
    kind: or('auto', boolean),
    default: false as boolean | 'auto',
    doc: 'Whether eth_sendTransaction returns an error, as the node of Hardhat does, if the transaction is mined at once and fails; otherwise it returns the hash. auto: an error after the first hardhat_metadata request, which Hardhat sends. The default is false because viem, also within Hardhat, resends a transaction after such an error; set true for hardhat-ethers and its chai matchers, which expect the error.',
  }),
  'dev.silent': setting({ kind: boolean, default: false, doc: 'Whether only errors are printed.' }),
  'dev.verbose': setting({
    kind: boolean,
    default: false,
    doc: 'Whether each request is printed, with its method and duration.',
  }),
  'dev.json': setting({ kind: boolean, default: false, doc: 'Whether the output is lines of JSON.' }),
  'dev.fork_url': setting({
    kind: or('none', text('a URL of JSON-RPC over HTTP', /^https?:\/\/\S+$/)),
    default: 'none',
    doc: 'URL of the node whose chain is forked. Its state is read when it is needed, and cached in data/fork of the data directory. The block that the fork begins after is compared by its hash after a failure and at each start; what dev.fork_verify says of its state.',
  }),
  'dev.fork_block': setting({
    kind: or('latest', integer(0, Number.MAX_SAFE_INTEGER)),
    default: 'latest' as number | 'latest',
    doc: 'The last block of the forked chain; an existing data directory of a fork keeps its own.',
  }),
  'dev.fork_verify': setting({
    kind: oneWord('auto', 'on', 'off'),
    default: 'auto' as 'auto' | 'on' | 'off',
    doc: 'Whether accounts and slots of the remote node are verified by Merkle proofs (eth_getProof) against the state root of the block that the fork begins after. auto: as long as the node gives proofs that fit; where it does not, one line of the log says so. on: without a proof the request that needs it fails, and what was cached without is not used. off trusts the node. Code is compared with its hash in each case; hashes of older blocks are trusted.',
  }),
  'dev.fork_timeout': setting({
    kind: duration(100, HOUR),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'Timeout of requests to the remote node of a fork, all attempts together; then the request that needed it fails. One eth_call, eth_estimateGas, eth_createAccessList or eth_simulateV1 starts no further request after that time in total.',
  }),
  'dev.fork_cache_bytes': setting({
    kind: bytes(MIB, 1024 * GIB),
    default: 256 * MIB,
    unit: 'bytes',
    doc: 'Maximum size of the cached state of the remote node, in memory and on disk each; the least recently used entries are dropped first.',
  }),
} as const
