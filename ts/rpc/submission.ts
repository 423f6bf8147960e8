// What becomes of transactions that clients send: this node's pool, another node, or a refusal.
import type { Forward, Forwarded } from '../peers/forward.ts'
import { forwardedError, forwardFailed, makesNoBlocks } from './errors.ts'

/** Methods that are forwarded where `evm.forward_url` names a node; eth_getTransactionCount at `pending` alone. */
export const FORWARDED_METHODS = ['eth_sendRawTransaction', 'eth_sendRawTransactionSync', 'eth_getTransactionCount'] as const

/** The name of one of them. */
export type ForwardedMethod = (typeof FORWARDED_METHODS)[number]

/** Header of forwarded requests: a node does not forward them again. */
export const FORWARDED_HEADER = 'x-hearth-forwarded'

/**
 * `pool`: this node makes blocks from what it takes. `refused`: it does not, and there is nowhere to
 * forward to. A function forwards to another node.
 */
export type Submission = 'pool' | 'refused' | Forward

/** Refuses requests that another node forwarded. */
export const FORWARDED_ALREADY: Forward = async () => ({ failure: 'loop' })

const encoder = new TextEncoder()

/** The bytes of a result that another node gave; throws its error, or why there is no answer. */
function resultOf(answer: Forwarded): Uint8Array {
  if ('result' in answer) return encoder.encode(JSON.stringify(answer.result))
  throw 'error' in answer ? forwardedError(answer.error) : forwardFailed(answer.failure)
}

/** A request that goes to another node. */
interface Request {
  readonly method: ForwardedMethod
  readonly params: readonly unknown[]
  /** How long the method itself may wait, in milliseconds. */
  readonly waitMs?: number
}

/** Sends a transaction: to the pool by `own`, or to another node. Throws where neither is possible. */
export async function submit(submission: Submission, request: Request, own: () => Promise<Uint8Array>): Promise<Uint8Array> {
  if (submission === 'pool') return await own()
  if (submission === 'refused') throw makesNoBlocks()
  return await forward(submission, request)
}

/** Asks another node. */
export async function forward(ask: Forward, { method, params, waitMs }: Request): Promise<Uint8Array> {
  return resultOf(await ask(method, params, waitMs))
}
