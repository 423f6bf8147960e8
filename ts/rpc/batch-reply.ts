// The reply to a batch: its entries are invoked as single requests are.

import { type Body, bytesOf, EMPTY, isWhole } from '../core/body.ts'
import { Line } from '../core/line.ts'
import { Batch, type BatchLimits, type Entry, type Outcome, type Runner } from './batch.ts'
import type { Client } from './client.ts'
import { isBad } from './envelope.ts'
import { type RpcError, toRpcError } from './errors.ts'
import type { Invocation, Invoker, Report } from './invoke.ts'
import type { Sample } from './meter.ts'
import { errorBody, type Reply, type ReplyHeaders } from './reply.ts'
import { ReplyStream } from './reply-stream.ts'

/** Replies to batches up to this size are sent as one piece, in bytes. */
const BATCH_WHOLE_BYTES = 1024 * 1024

/**
 * The body of an entry, whose results are never in gzip. Shared bytes are copied: a batch that is
 * given up drops what waits in it, and the garbage collector does not count the core's memory.
 */
const outcomeOf = (body: Body): Outcome => (body.kind === 'shared' ? { kind: 'bytes', bytes: bytesOf(body) } : (body as Outcome))

/** The outcome of an entry. It may wait for those before it to be sent; its work is done. */
async function settled(body: Promise<Body>, sample: Sample): Promise<Outcome> {
  try {
    const outcome = await body
    if (isWhole(outcome)) sample.produced()
    return outcomeOf(outcome)
  } catch (e) {
    sample.produced()
    return e as RpcError
  }
}

/** Runs the entries of one batch. */
class EntryRunner implements Runner {
  private readonly invoker: Invoker
  private readonly client: Client
  private readonly headers: ReplyHeaders
  private readonly line = new Line()
  /** Results without envelopes, which depend on the size of the reply so far, and never in gzip. */
  private readonly options: Invocation['options']

  constructor(invoker: Invoker, client: Client, headers: ReplyHeaders) {
    this.invoker = invoker
    this.client = client
    this.headers = headers
    this.options = { head: '', tail: '', gzipOver: undefined, client: client.address, facts: undefined }
  }

  run({ call, sample }: Entry): Promise<Outcome> | Outcome {
    if (isBad(call)) return call.error
    const { client, headers, options } = this
    const line = this.isQueued(call.method) ? this.line : undefined
    try {
      const request = { id: call.id, client, sample, subscriber: undefined, headers, options, line }
      const body = this.invoker.invoke(call.method, call.params, request)
      return body instanceof Promise ? settled(body, sample) : outcomeOf(body)
    } catch (e) {
      return e as RpcError
    }
  }

  writes({ call }: Entry): boolean {
    return !isBad(call) && this.invoker.writes(call.method)
  }

  queues({ call }: Entry): boolean {
    return !isBad(call) && this.isQueued(call.method)
  }

  /** A client without an address has no line in the core. */
  private isQueued(method: string): boolean {
    return this.client.address !== undefined && this.invoker.queues(method)
  }

  report(e: unknown, { call, sample }: Entry): void {
    this.invoker.reportOf(e, { sample, id: call.id })
  }
}

/** The whole of a batch's chunks as bytes; the first ones where they are more than one piece. */
async function gathered(chunks: AsyncGenerator<Uint8Array, void>): Promise<{ readonly ready: Uint8Array[]; readonly isWhole: boolean }> {
  const ready: Uint8Array[] = []
  let size = 0
  for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) {
    ready.push(chunk.value)
    size += chunk.value.length
    if (size > BATCH_WHOLE_BYTES) return { ready, isWhole: false }
  }
  return { ready, isWhole: true }
}

/** Chunks as one piece; none: the batch held notifications only. */
function wholeOf([first, ...more]: readonly Uint8Array[]): Body {
  if (first === undefined) return EMPTY
  return { kind: 'bytes', bytes: more.length === 0 ? first : Buffer.concat([first, ...more]) }
}

/** Answers a batch: as one piece where the reply is small, else as a stream. */
export async function answerBatch(
  invoker: Invoker,
  entries: readonly Entry[],
  client: Client,
  limits: BatchLimits,
  report: Report,
): Promise<Reply> {
  const headers: ReplyHeaders = {}
  const batch = new Batch(entries, limits, new EntryRunner(invoker, client, headers))
  const chunks = batch.chunks()
  try {
    const { ready, isWhole } = await gathered(chunks)
    if (isWhole) return { body: wholeOf(ready), headers }
    const samples = entries.map(({ sample }) => sample)
    return { body: { kind: 'stream', stream: new ReplyStream(chunks, samples, () => batch.cancel(), ready) }, headers }
  } catch (e) {
    const error = toRpcError(e, report)
    for (const { sample } of entries) sample.fail(error)
    return { body: errorBody('null', error), headers }
  }
}
