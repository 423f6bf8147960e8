// What becomes of transactions that clients send: this node's pool, another node, or a refusal.

import type { Core, Data, Hex } from '../core/port.ts'
import { readJson } from '../core/results.ts'
import type { Forward, Forwarded } from '../peers/forward.ts'
import { clientGone, forwardedError, forwardFailed, makesNoBlocks, ownerSilent } from './errors.ts'
import type { HandlerContext } from './method.ts'
import { mayHaveIt, type Redirected, type RedirectedMethod } from './redirect.ts'

/**
 * Methods that are forwarded if `evm.forward_url` names a node; eth_getTransactionCount only at
 * `pending`.
 */
export const FORWARDED_METHODS = ['eth_sendRawTransaction', 'eth_sendRawTransactionSync', 'eth_getTransactionCount'] as const

/** The name of one of them. */
export type ForwardedMethod = (typeof FORWARDED_METHODS)[number]

/** Header of forwarded requests: a node does not forward them again. */
export const FORWARDED_HEADER = 'x-hearth-forwarded'

/**
 * `pool`: this node makes blocks from sent transactions. `refused`: it does not, and forwards to no
 * node. A function forwards to another node.
 */
export type Submission = 'pool' | 'refused' | Forward

/** Refuses requests that another node forwarded. */
export const FORWARDED_ALREADY: Forward = async () => ({ failure: 'loop' })

/** The JSON of a result: its bytes, or its text. */
type Json = Uint8Array | string

/** The JSON of a result that another node gave; throws its error, or why there is no answer. */
function resultOf(answer: Forwarded): string {
  if ('result' in answer) return JSON.stringify(answer.result)
  throw 'error' in answer ? forwardedError(answer.error) : forwardFailed(answer.failure)
}

/** A forwarded request. */
interface Request {
  readonly method: ForwardedMethod
  readonly params: readonly unknown[]
  /** How long the method itself may wait, in milliseconds. */
  readonly waitMs?: number
  /** Ends the request when its client leaves. */
  readonly onDisconnect?: HandlerContext['onDisconnect']
}

/** Sends a transaction: to the pool by `own`, or to another node. Throws if neither is possible. */
export async function submit(submission: Submission, request: Request, own: () => Promise<Json>): Promise<Json> {
  if (submission === 'pool') return await own()
  if (submission === 'refused') throw makesNoBlocks()
  return await forward(submission, request)
}

/** Sends a request to another node. */
export async function forward(ask: Forward, { method, params, waitMs, onDisconnect }: Request): Promise<Json> {
  if (onDisconnect === undefined) return resultOf(await ask(method, params, waitMs))
  const gone = new AbortController()
  onDisconnect(() => gone.abort())
  const answer = await ask(method, params, waitMs, gone.signal)
  if (gone.signal.aborted) throw clientGone()
  return resultOf(answer)
}

/** In place of a sender that makes no difference. */
const ANY_SENDER: Hex = '0x'

/** How a request gets to the validator that its sender belongs to. */
export interface Redirect {
  /**
   * The node's own core, which recovers a sender on this thread: the core of a client's request
   * wakes another thread for it, since that one ends with the client.
   */
  readonly core: Pick<Core, 'request'>
  /** Whether validators share the senders; else the sender is not needed. */
  readonly dependsOnSender: boolean
  /** Sends a request there; undefined where it is served here. */
  readonly send: (sender: Hex, method: RedirectedMethod, params: readonly unknown[]) => Promise<Redirected>
}

/**
 * The answer of the validator that takes the transactions of the sender, where there is one that
 * answers; else by `own`.
 */
export async function throughOwner(redirect: Redirect | undefined, transaction: Data, own: () => Promise<Json>): Promise<Json> {
  if (redirect === undefined) return await own()
  // Where one node takes all transactions, it is also the one that says what is wrong with them.
  const sender = redirect.dependsOnSender ? await readJson(redirect.core, 'senderOf', { raw: transaction }) : ANY_SENDER
  const redirected = sender === null ? undefined : await redirect.send(sender, 'eth_sendRawTransaction', [transaction])
  if (redirected === undefined) return await own()
  if ('answer' in redirected) return resultOf(redirected.answer)
  // A transaction that the owner may have is not put into this pool in silence.
  if (mayHaveIt(redirected.failure)) {
    const hash = await readJson(redirect.core, 'keccak', { data: transaction })
    throw ownerSilent(redirected.owner, hash)
  }
  return await own()
}

/** The owner's count of transactions, which only reads: without its answer, that of `own`. */
export async function countOfOwner(redirect: Redirect | undefined, address: Hex, own: () => Promise<Json>): Promise<Json> {
  const redirected = await redirect?.send(address, 'eth_getTransactionCount', [address, 'pending'])
  return redirected !== undefined && 'answer' in redirected ? resultOf(redirected.answer) : await own()
}
