// Where a fork begins: chain id and block of the origin.
import type { FetchOrigin } from '../core/origin.ts'
import { shownUrl } from '../peers/post.ts'
import { foreignText } from '../peers/words.ts'
import { Batches, type Guard } from '../upstream/batches.ts'
import { UpstreamClient } from '../upstream/client.ts'
import { PROOF_METHOD, Proofs, type Verify } from './proofs.ts'

/** A block as JSON-RPC gives it, as far as it is looked at here. */
export interface OriginBlock {
  readonly number: string
  readonly hash: string
  readonly timestamp: string
  readonly gasLimit: string
  readonly baseFeePerGas?: string
  readonly [field: string]: unknown
}

/** The origin of a fork. */
export interface Origin {
  /** Where it is reached now. */
  readonly url: string
  readonly chainId: number
  /** The block that the fork begins after. */
  readonly block: OriginBlock
  /** Whether the core verifies what it says of that state. */
  readonly verify: Verify
  /** Fetches state of that block; a proof is `null` where the origin gives none and need not. */
  readonly ask: FetchOrigin
  /**
   * The bytes of the result of a read of any kind; rejects with `UpstreamError` if the remote node
   * refuses it.
   */
  readonly read: (method: string, params: readonly unknown[]) => Promise<Buffer>
  /**
   * Switches to another node, once that has the same block; rejects with `ForkError` if it has not.
   */
  readonly moveTo: (url: string) => Promise<void>
}

/** An origin that cannot be forked from; the message says why. */
export class ForkError extends Error {
  override name = 'ForkError'
}

/** How an origin is found and used. */
export interface FindOptions {
  readonly timeoutMs: number
  readonly verify: Verify
  /** Called with the node and the reason where `auto` finds that its state cannot be verified. */
  readonly onUnverified: (url: string, why: string) => void
}

/** Newest block that a fork takes, as JSON-RPC names it. */
const hex = (number: number): string => `0x${number.toString(16)}`

/**
 * How long an origin that is new may be unreachable before that is an error, in milliseconds: a URL
 * may be wrong, or its node about to start.
 */
const UNREACHABLE_MS_MAX = 1_000

/**
 * Finds the origin's block: the one with this number, or its newest one. Rejects with `ForkError`.
 */
export const findOrigin = (url: string, number: number | undefined, options: FindOptions): Promise<Origin> => find(url, number, options)

async function find(url: string, number: number | undefined, options: FindOptions): Promise<FoundOrigin> {
  const { timeoutMs, verify, onUnverified } = options
  const first = new Batches(url, { unreachableMs: UNREACHABLE_MS_MAX })
  const at = number === undefined ? 'latest' : hex(number)
  let answers: [unknown, unknown]
  try {
    answers = await Promise.all([first.ask('eth_chainId', [], timeoutMs), first.ask('eth_getBlockByNumber', [at, false], timeoutMs)])
  } catch (e) {
    throw new ForkError(`cannot fork ${shownUrl(url)}: ${(e as Error).message}`)
  }
  const [id, block] = answers
  const chainId = Number(id)
  if (!Number.isSafeInteger(chainId))
    throw new ForkError(`cannot fork ${shownUrl(url)}: its chain id is ${foreignText(JSON.stringify(id) ?? 'missing')}`)
  if (!isBlock(block)) throw new ForkError(`cannot fork ${shownUrl(url)}: it has no block ${number ?? 'yet'}`)
  const proofs = new Proofs(verify, (why) => onUnverified(shownUrl(url), why))
  try {
    await proofs.probe(block, (params) => first.ask(PROOF_METHOD, params, timeoutMs))
  } catch (e) {
    throw new ForkError(`cannot fork ${shownUrl(url)} with dev.fork_verify=${verify}: ${(e as Error).message}`)
  }
  return new FoundOrigin(url, chainId, block, proofs, options)
}

/** Reads that are passed on at the same time; more are refused. */
const READS_AT_ONCE = 1024

/** Largest answer to such a read, in bytes. */
const READ_BYTES_MAX = 256 * 1024 * 1024

/** Requests to a node that must have the block of a fork. */
interface Ways {
  /** Of the state, gathered into batches. */
  readonly batches: Batches
  /** Of clients, which are passed on one by one. */
  readonly client: UpstreamClient
}

function waysTo(url: string, block: OriginBlock, timeoutMs: number): Ways {
  const guard: Guard = {
    method: 'eth_getBlockByNumber',
    params: [block.number, false],
    check: (now) => {
      if (!isBlock(now) || now.hash !== block.hash) {
        throw new Error(`block ${Number(block.number)} of ${shownUrl(url)} is another one now: this fork began after ${block.hash}`)
      }
    },
  }
  return {
    batches: new Batches(url, { guard }),
    client: new UpstreamClient({ url, timeoutMs, atOnce: READS_AT_ONCE, answerBytesMax: READ_BYTES_MAX, guard }),
  }
}

class FoundOrigin implements Origin {
  url: string
  readonly chainId: number
  readonly block: OriginBlock
  private ways: Ways
  private proofs: Proofs
  private readonly options: FindOptions

  constructor(url: string, chainId: number, block: OriginBlock, proofs: Proofs, options: FindOptions) {
    this.url = url
    this.chainId = chainId
    this.block = block
    this.proofs = proofs
    this.options = options
    this.ways = waysTo(url, block, options.timeoutMs)
  }

  get verify(): Verify {
    return this.proofs.mode
  }

  readonly ask: FetchOrigin = (requests, withinMs) => {
    const send = (method: string, params: readonly unknown[]): Promise<unknown> => this.ways.batches.ask(method, params, withinMs)
    return Promise.all(
      requests.map(([method, params]) =>
        method === PROOF_METHOD ? this.proofs.of((params) => send(method, params), params) : send(method, params),
      ),
    )
  }

  read(method: string, params: readonly unknown[]): Promise<Buffer> {
    return this.ways.client.read(method, params)
  }

  async moveTo(url: string): Promise<void> {
    const { options } = this
    const there = await find(url, Number(this.block.number), options)
    if (there.chainId !== this.chainId || there.block.hash !== this.block.hash) {
      const wanted = `block ${Number(this.block.number)} (${this.block.hash}) of chain ${this.chainId}`
      throw new ForkError(`${shownUrl(url)} has not ${wanted}, after which this fork began`)
    }
    this.ways = waysTo(url, this.block, options.timeoutMs)
    this.proofs = there.proofs
    this.url = url
  }
}

function isBlock(block: unknown): block is OriginBlock {
  const { number, hash } = (block ?? {}) as Partial<OriginBlock>
  return typeof number === 'string' && typeof hash === 'string' && /^0x[0-9a-f]{64}$/i.test(hash)
}
