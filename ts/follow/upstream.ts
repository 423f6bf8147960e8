// One node that is followed: its blocks and headers, by hash wherever a method takes one.
import { setTimeout as sleep } from 'node:timers/promises'
import type { BlockForm, BlockId } from '../core/follow.ts'
import { Batches } from '../upstream/batches.ts'
import { type OnceOptions, UpstreamClient } from '../upstream/client.ts'
import { isPassing, UpstreamError } from '../upstream/error.ts'
import type { Abilities } from './abilities.ts'
import { headerRlp } from './header-rlp.ts'
import { BadAnswer, hashOf, numberOf, objectOf, quantity } from './values.ts'

/** A header, as far as the chain of headers needs it. */
export interface Header extends BlockId {
  readonly parentHash: string
}

/** A block as its upstream sent it. */
export interface BlockBytes {
  readonly form: BlockForm
  readonly bytes: Buffer
}

/** Bounds of requests to a node. */
export interface UpstreamOptions {
  readonly url: string
  readonly timeoutMs: number
  /** Largest witness, as the text of an answer, in bytes. */
  readonly witnessBytesMax: number
  /** Requests of clients that may be under way at the same time. */
  readonly readsAtOnce: number
}

/** Largest answer with a block: a block of 128 MiB of data is larger than any chain allows. */
const BLOCK_BYTES_MAX = 256 * 1024 * 1024

/** Largest answer to any other request, in bytes. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Bytes around the result of an answer. */
const ENVELOPE_BYTES = 1024

/**
 * Attempts for what a node behind a load balancer may not have yet, and the wait before each
 * further one, in milliseconds.
 */
const LACKING_ATTEMPTS = 3
const LACKING_WAIT_MS = 200

/**
 * A block so far below the head of its node is on every node behind the same address: what is
 * lacking of it is not requested again.
 */
const SETTLED_BLOCKS = 64

/** A node that cannot be followed; the message says why. */
export class FollowError extends Error {
  override name = 'FollowError'
}

/** An upstream does not have what was requested, in all attempts. */
export class Lacking extends Error {
  override name = 'Lacking'
}

/** A header from a block in the form of JSON-RPC. */
export function headerOf(value: unknown): Header {
  const { number, hash, parentHash } = objectOf(value, 'a block')
  return {
    number: numberOf(number, 'the number of a block'),
    hash: hashOf(hash, 'the hash of a block'),
    parentHash: hashOf(parentHash, 'the parent of a block'),
  }
}

/** A node that is followed. */
export class Upstream {
  readonly url: string
  /** The address without its secret parts. */
  readonly shown: string
  /** Reads of clients, and requests one by one. */
  readonly client: UpstreamClient
  /** Reads of state, gathered into batches. */
  readonly batches: Batches
  /** What it can do; undefined until it has said so, and again after each failure. */
  abilities: Abilities | undefined
  /** Its newest block; undefined until it is known, and while the node does not answer. */
  head: Header | undefined
  /** Why it cannot be followed at the moment. */
  failure: string | undefined = 'not reached yet'
  /** Whether the first attempt to reach it succeeded, once that is over. */
  readonly firstContact: Promise<boolean>
  /** The first attempt is over; later calls change nothing. */
  readonly contacted: (isReached: boolean) => void
  private readonly options: UpstreamOptions

  constructor(options: UpstreamOptions) {
    const { url, timeoutMs, readsAtOnce } = options
    this.url = url
    this.options = options
    this.client = new UpstreamClient({ url, timeoutMs, atOnce: readsAtOnce, answerBytesMax: ANSWER_BYTES_MAX })
    this.batches = new Batches(url, { unreachableMs: timeoutMs })
    this.shown = this.client.shown
    let contacted: Upstream['contacted'] = () => undefined
    this.firstContact = new Promise((resolve) => {
      contacted = resolve
    })
    this.contacted = contacted
  }

  get timeoutMs(): number {
    return this.options.timeoutMs
  }

  private bounds(answerBytesMax: number): OnceOptions {
    return { timeoutMs: this.options.timeoutMs, answerBytesMax }
  }

  /** The value of one attempt. */
  once<T = unknown>(method: string, params: readonly unknown[], timeoutMs = this.options.timeoutMs): Promise<T> {
    return this.client.once<T>(method, params, { timeoutMs, answerBytesMax: ANSWER_BYTES_MAX })
  }

  /** The block that a tag or number names; undefined where the node has none. */
  async headerAt(at: string, timeoutMs?: number): Promise<Header | undefined> {
    const block = await this.once('eth_getBlockByNumber', [at, false], timeoutMs)
    return block === null ? undefined : headerOf(block)
  }

  /** The header of a block by hash; rejects with `Lacking`. */
  async headerByHash(hash: string): Promise<Header> {
    const header = headerOf(await this.had(`the block ${hash}`, () => this.once('eth_getBlockByHash', [hash, false])))
    if (header.hash !== hash) throw new BadAnswer(`the block ${hash} has another hash: ${header.hash}`)
    return header
  }

  /** A block's header in RLP, from its fields where the node gives no RLP. */
  async headerBytes(of: string | number): Promise<string> {
    const named = typeof of === 'string' ? of : quantity(of)
    try {
      const raw = await this.once('debug_getRawHeader', [named])
      if (typeof raw === 'string' && /^0x[0-9a-f]+$/i.test(raw)) return raw
    } catch (e) {
      if (!(e instanceof UpstreamError)) throw e
    }
    const method = typeof of === 'string' ? 'eth_getBlockByHash' : 'eth_getBlockByNumber'
    return headerRlp(objectOf(await this.had(`the block ${of}`, () => this.once(method, [named, false])), 'a block'))
  }

  /** A whole block by hash; rejects with `Lacking`. */
  async block(hash: string): Promise<BlockBytes> {
    const isRaw = this.abilities?.rawBlock === true
    const [method, params] = isRaw ? ['debug_getRawBlock', [hash]] : ['eth_getBlockByHash', [hash, true]]
    const bytes = await this.had(`the block ${hash}`, async () => {
      const answer = await this.client.onceUnchecked(method as string, params as unknown[], this.bounds(BLOCK_BYTES_MAX))
      return answer.length === 4 && answer.toString('latin1') === 'null' ? null : answer
    })
    return { form: isRaw ? 'raw' : 'json', bytes }
  }

  /** The bytes of a witness; rejects with `Lacking` or `UpstreamError`. */
  async witness(block: BlockId): Promise<Buffer> {
    const call = this.abilities?.witness
    if (call === undefined) throw new Lacking('it gives no witnesses')
    const params = { hash: [block.hash], object: [{ blockHash: block.hash }], number: [quantity(block.number)] }[call.by]
    const bounds = this.bounds(this.options.witnessBytesMax + ENVELOPE_BYTES)
    const isSettled = block.number + SETTLED_BLOCKS < (this.head?.number ?? 0)
    const read = async (): Promise<Buffer | null> => {
      const answer = await this.client.onceUnchecked(call.method, params, bounds)
      return answer.length === 4 && answer.toString('latin1') === 'null' ? null : answer
    }
    const bytes = await this.had(`the witness of block ${block.number}`, read, isSettled ? 1 : LACKING_ATTEMPTS)
    if (call.by === 'number') await this.stillHas(block)
    return bytes
  }

  /** Rejects with `Lacking` where the number of a block is that of another one now. */
  async stillHas({ number, hash }: BlockId): Promise<void> {
    const now = await this.headerAt(quantity(number))
    if (now?.hash !== hash) throw new Lacking(`block ${number} is another one now`)
  }

  /**
   * What a node has, requested again while it may not have it yet: behind a load balancer, one
   * node says that there is a block, and another one gets the request for it.
   */
  async had<T>(what: string, read: () => Promise<T | null>, attempts = LACKING_ATTEMPTS): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      let why = 'it has none'
      try {
        const value = await read()
        if (value !== null && value !== undefined) return value
      } catch (e) {
        if (!(e instanceof UpstreamError)) throw e
        if (isPassing(e.code)) throw e
        why = e.said
      }
      if (attempt === attempts) throw new Lacking(`${what}: ${why}`)
      await sleep(LACKING_WAIT_MS)
    }
  }

  close(): void {
    this.contacted(false)
    this.client.close()
    this.batches.close()
  }
}
