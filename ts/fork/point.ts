// Where a fork begins: chain id and block of the origin.
import type { AskOrigin } from '../core/origin.ts'
import { Batches, shownUrl } from './batches.ts'

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
  readonly url: string
  readonly chainId: number
  /** The block that the fork begins after. */
  readonly block: OriginBlock
  /** Asks for state of that block. */
  readonly ask: AskOrigin
  /** Asks one request of any kind; rejects with `OriginError` where the origin refuses it. */
  readonly call: (method: string, params: readonly unknown[]) => Promise<unknown>
}

/** An origin that cannot be forked from; the message says why. */
export class ForkError extends Error {
  override name = 'ForkError'
}

/** Newest block that a fork takes, as JSON-RPC names it. */
const hex = (number: number): string => `0x${number.toString(16)}`

/** Finds the origin's block: the one with this number, or its newest one. Rejects with `ForkError`. */
export async function findOrigin(url: string, number: number | undefined, timeoutMs: number): Promise<Origin> {
  const first = new Batches(url)
  const at = number === undefined ? 'latest' : hex(number)
  let answers: [unknown, unknown]
  try {
    answers = await Promise.all([first.ask('eth_chainId', [], timeoutMs), first.ask('eth_getBlockByNumber', [at, false], timeoutMs)])
  } catch (e) {
    throw new ForkError(`cannot fork ${shownUrl(url)}: ${(e as Error).message}`)
  }
  const [id, block] = answers
  const chainId = Number(id)
  if (!Number.isSafeInteger(chainId)) throw new ForkError(`cannot fork ${shownUrl(url)}: its chain id is ${JSON.stringify(id)}`)
  if (!isBlock(block)) throw new ForkError(`cannot fork ${shownUrl(url)}: it has no block ${number ?? 'yet'}`)
  const batches = new Batches(url, {
    method: 'eth_getBlockByNumber',
    params: [block.number, false],
    check: (now) => {
      if (!isBlock(now) || now.hash !== block.hash) {
        throw new Error(`block ${Number(block.number)} of ${shownUrl(url)} is another one now: this fork began after ${block.hash}`)
      }
    },
  })
  return {
    url,
    chainId,
    block,
    ask: (requests, withinMs) => Promise.all(requests.map(([method, params]) => batches.ask(method, params, withinMs))),
    call: (method, params) => batches.ask(method, params, timeoutMs),
  }
}

function isBlock(block: unknown): block is OriginBlock {
  const { number, hash } = (block ?? {}) as Partial<OriginBlock>
  return typeof number === 'string' && typeof hash === 'string' && /^0x[0-9a-f]{64}$/i.test(hash)
}
