// Where a fork begins: chain id and block of the origin.
import type { FetchOrigin } from '../core/origin.ts'
import { shownUrl } from '../peers/post.ts'
import { foreignText } from '../peers/words.ts'
import { Batches, type Guard } from '../upstream/batches.ts'
import { UpstreamClient } from '../upstream/client.ts'

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
  /** Fetches state of that block. */
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
export async function findOrigin(url: string, number: number | undefined, timeoutMs: number): Promise<Origin> {
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
  return new FoundOrigin(url, chainId, block, timeoutMs)
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
  private readonly timeoutMs: number

  constructor(url: string, chainId: number, block: OriginBlock, timeoutMs: number) {
    this.url = url
    this.chainId = chainId
    this.block = block
    this.timeoutMs = timeoutMs
    this.ways = waysTo(url, block, timeoutMs)
  }

  readonly ask: FetchOrigin = (requests, withinMs) =>
    Promise.all(requests.map(([method, params]) => this.ways.batches.ask(method, params, withinMs)))

  read(method: string, params: readonly unknown[]): Promise<Buffer> {
    return this.ways.client.read(method, params)
  }

  async moveTo(url: string): Promise<void> {
    const there = await findOrigin(url, Number(this.block.number), this.timeoutMs)
    if (there.chainId !== this.chainId || there.block.hash !== this.block.hash) {
      const wanted = `block ${Number(this.block.number)} (${this.block.hash}) of chain ${this.chainId}`
      throw new ForkError(`${shownUrl(url)} has not ${wanted}, after which this fork began`)
    }
    this.ways = waysTo(url, this.block, this.timeoutMs)
    this.url = url
  }
}

function isBlock(block: unknown): block is OriginBlock {
  const { number, hash } = (block ?? {}) as Partial<OriginBlock>
  return typeof number === 'string' && typeof hash === 'string' && /^0x[0-9a-f]{64}$/i.test(hash)
}
