// What an upstream can do, found out once, when it is reached.
import { UpstreamError } from '../upstream/error.ts'
import type { Header, Upstream } from './upstream.ts'
import { BadAnswer, numberOf } from './values.ts'

/** How a witness is requested: the method, and how it names a block. */
export interface WitnessCall {
  readonly method: string
  readonly by: 'hash' | 'object' | 'number'
}

/** What an upstream can do. */
export interface Abilities {
  readonly clientVersion: string
  readonly chainId: number
  /** Whether debug_getRawBlock takes a hash. */
  readonly rawBlock: boolean
  /** How it gives witnesses; undefined where it gives none. */
  readonly witness: WitnessCall | undefined
  /** Whether a witness of a block below the tip would damage the upstream's state. */
  readonly tipOnly: boolean
  /** Whether it gives proofs (EIP-1186). */
  readonly proof: boolean
  /** Whether reads of state take a block by hash (EIP-1898). */
  readonly byHash: boolean
  /** How the keys that a block touches are found: by its trace, by those of its transactions. */
  readonly keys: 'block' | 'transaction' | undefined
}

const ZERO_HASH = `0x${'00'.repeat(32)}`
const ZERO_ADDRESS = `0x${'00'.repeat(20)}`

const METHOD_NOT_FOUND = -32_601
const INVALID_PARAMS = -32_602

/** Errors that say that there is no such method, whatever their code. */
const NO_METHOD =
  /method .*(not (found|supported|available|exist|allowed|whitelisted)|unknown|does not exist)|not (implemented|supported)|unsupported method/i

/** How a node answers a request that names nothing it has. */
type Probe = 'result' | 'failed' | 'bad params' | 'absent'

/** Whether a method is there. Rejects where there is no answer. */
async function probe(upstream: Upstream, method: string, params: readonly unknown[]): Promise<Probe> {
  try {
    await upstream.once(method, params)
    return 'result'
  } catch (e) {
    if (!(e instanceof UpstreamError)) throw e
    if (e.code === METHOD_NOT_FOUND || NO_METHOD.test(e.said)) return 'absent'
    return e.code === INVALID_PARAMS || /invalid (argument|params|block)|cannot unmarshal|invalid type/i.test(e.said)
      ? 'bad params'
      : 'failed'
  }
}

/**
 * How witnesses are requested. The probe names a block that no node has: the answer says
 * whether the method is there, and costs the node nothing.
 */
async function witnessCall(upstream: Upstream): Promise<WitnessCall | undefined> {
  // go-ethereum before 1.17.2 has the first name, reth and Erigon have the second one.
  for (const method of ['debug_executionWitnessByHash', 'debug_executionWitnessByBlockHash']) {
    const found = await probe(upstream, method, [ZERO_HASH])
    if (found !== 'absent' && found !== 'bad params') return { method, by: 'hash' }
  }
  const method = 'debug_executionWitness'
  const found = await probe(upstream, method, [{ blockHash: ZERO_HASH }])
  if (found === 'absent') return undefined
  return { method, by: found === 'bad params' ? 'number' : 'object' }
}

/** The version of go-ethereum in a client's name; undefined for other clients. */
export function gethVersion(clientVersion: string): readonly [number, number, number] | undefined {
  const found = /^geth\/(?:[^/]*\/)?v(\d+)\.(\d+)\.(\d+)/i.exec(clientVersion)
  return found === null ? undefined : [Number(found[1]), Number(found[2]), Number(found[3])]
}

/** Order of two versions. */
const before = (a: readonly number[], b: readonly number[]): boolean => {
  const at = a.findIndex((part, i) => part !== b[i])
  return at >= 0 && (a[at] as number) < (b[at] as number)
}

/**
 * Whether this client has the defect of go-ethereum #33572: with the path scheme, a witness of a
 * block behind the tip replaces a layer of its state, and the node finds its next block bad. In
 * 1.16.4 to 1.17.1, and in Nitro (#4746).
 */
export function mayBeDamaged(clientVersion: string): boolean {
  if (/^nitro/i.test(clientVersion)) return true
  const version = gethVersion(clientVersion)
  return version !== undefined && !before(version, [1, 16, 4]) && before(version, [1, 17, 2])
}

/**
 * The key under which go-ethereum's path scheme keeps the root node of the account trie
 * (core/rawdb/schema.go, TrieNodeAccountPrefix): its own start looks it up to distinguish
 * the schemes.
 */
const PATH_SCHEME_ROOT = '0x41'

/** Whether a node of go-ethereum says that its state is in the hash scheme. */
async function hasHashScheme(upstream: Upstream): Promise<boolean> {
  try {
    await upstream.once('debug_dbGet', [PATH_SCHEME_ROOT])
    return false
  } catch (e) {
    return e instanceof UpstreamError && /^(leveldb: |pebble: )?not found$/i.test(e.said)
  }
}

/** How the keys of a block are found. */
async function keysBy(upstream: Upstream, head: Header): Promise<Abilities['keys']> {
  const config = { tracer: 'prestateTracer' }
  const block = await probe(upstream, 'debug_traceBlockByHash', [head.hash, config])
  // A genesis has no trace.
  if (block === 'result' || (block === 'failed' && head.number === 0)) return 'block'
  const transaction = await probe(upstream, 'debug_traceTransaction', [ZERO_HASH, config])
  return transaction === 'result' || transaction === 'failed' ? 'transaction' : undefined
}

/** Finds out what an upstream can do. Rejects where it does not answer. */
export async function abilitiesOf(upstream: Upstream): Promise<Abilities> {
  const [version, id, head] = await Promise.all([
    upstream.once('web3_clientVersion', []),
    upstream.once('eth_chainId', []),
    upstream.headerAt('latest'),
  ])
  if (head === undefined) throw new BadAnswer('it has no block yet')
  const clientVersion = typeof version === 'string' ? version : 'unknown'
  const at = { blockHash: head.hash }
  const [raw, witness, proof, balance, keys] = await Promise.all([
    probe(upstream, 'debug_getRawBlock', [head.hash]),
    witnessCall(upstream),
    probe(upstream, 'eth_getProof', [ZERO_ADDRESS, [], 'latest']),
    probe(upstream, 'eth_getBalance', [ZERO_ADDRESS, at]),
    keysBy(upstream, head),
  ])
  return {
    clientVersion,
    chainId: numberOf(id, 'the chain id'),
    rawBlock: raw === 'result',
    witness,
    tipOnly: witness !== undefined && mayBeDamaged(clientVersion) && !(await hasHashScheme(upstream)),
    proof: proof === 'result',
    byHash: balance === 'result',
    keys,
  }
}
