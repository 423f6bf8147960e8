// From the text of a request to the bytes of its answer. Knows no transport.
import { giveBack } from '../core/chunks.ts'
import { CoreError } from '../core/error.ts'
import type { ResultStream, TraceOrigin } from '../core/port.ts'
import { type BadCall, type Call, errorAnswer, lateError, type Message, parseMessage, RESULT_TAIL, resultHead } from './envelope.ts'
import { chainDisabled, invalidRequest, methodNotFound, RpcError, responseTooLarge, tooManyRequests, toRpcError } from './errors.ts'
import { Following } from './follow/index.ts'
import { type Connection, NO_METER, type RequestMeter, Sample } from './meter.ts'
import type { Context, Method, Result, Surroundings } from './method.ts'
import type { Subscriber } from './subscription.ts'
import { isMethod, methodTable, namespaceOf, servedNamespaces } from './table.ts'

/** Limits of batches. */
export interface BatchLimits {
  /** Most requests in one batch. */
  readonly requests: number
  /** Bytes of results in the answer to one batch after which the remaining requests are refused. */
  readonly responseBytes: number
  /** Requests of one batch that run at the same time. */
  readonly concurrency: number
}

/** An answer that is one gzip member already, for a client that takes it. */
export class Packed {
  /** Its bytes, envelope included. */
  readonly bytes: number
  readonly body: Uint8Array | ResultStream

  constructor(bytes: number, body: Uint8Array | ResultStream) {
    this.bytes = bytes
    this.body = body
  }
}

/** An answer: its bytes, a stream of them, either in gzip, or none (notifications). */
export type Answer = Uint8Array | ResultStream | Packed | undefined

/** Who waits for an answer. */
export interface Client {
  readonly connection: Connection
  /** Whose the request is, by address; work that waits takes turns by it. */
  readonly address?: string
  /** Whether so many requests of this client are let in now; always where absent. */
  admit?(requests: number): boolean
  /** Answers of more bytes are wanted in gzip, where they lie there so; undefined where none is. */
  readonly gzipOver?: number | undefined
  /** Where a single request may begin subscriptions; undefined where the transport has none. */
  readonly subscriber?: Subscriber | undefined
  /** Told what the answer to a single request is made from, where the core says. */
  origin?: TraceOrigin | undefined
  /** Calls back when nobody waits any more; at once where that is so already. May also call back after the answer was sent. */
  onGone(callback: () => void): void
}

/**
 * Serves one request body or one WebSocket message. Work that streams is cancelled when its client goes. What needs no waiting is answered
 * without a promise.
 */
export type Dispatch = (text: string, client: Client) => Promise<Answer> | Answer

/** Answers to batches up to this size are sent as one piece, in bytes. */
const BATCH_WHOLE_BYTES = 1024 * 1024

const encoder = new TextEncoder()
const isStream = (result: Result): result is ResultStream => !(result instanceof Uint8Array)
const isBad = (call: Call | BadCall): call is BadCall => 'error' in call

/** Envelope and result as one piece. */
function splice(id: string, result: Uint8Array): Uint8Array {
  const head = resultHead(id)
  // An id may hold any character: three bytes a UTF-16 unit are always enough.
  const bytes = Buffer.allocUnsafe(head.length * 3 + result.length + RESULT_TAIL.length)
  let at = bytes.write(head, 0, 'utf8')
  bytes.set(result, at)
  at += result.length
  at += bytes.write(RESULT_TAIL, at, 'latin1')
  return bytes.subarray(0, at)
}

/** Kinds of failures after which what came of a result is a whole value, only cut short. */
const WHOLE_KINDS: ReadonlySet<string> = new Set(['trace', 'execution'])

/** A result of more than one chunk. The first ones are taken before anything is sent, so a request that fails at once is an ordinary error. */
interface Opened {
  readonly ready: readonly Uint8Array[]
  readonly stream: ResultStream
}

/** An entry of a batch and its measurement. */
interface Entry {
  readonly call: Call | BadCall
  readonly sample: Sample
}

const isOpened = (result: Uint8Array | RpcError | Opened): result is Opened => 'stream' in result

/** The start of a stream; one of a single chunk is bytes. */
async function open(stream: ResultStream): Promise<Uint8Array | Opened> {
  const first = await stream.next()
  const second = first === null || stream.isOver() ? null : await stream.next()
  if (first === null || second === null) return first ?? encoder.encode('null')
  return { ready: [first, second], stream }
}

/** The whole answer to a request, where all of it has come; else the start of its stream. */
async function begin(stream: ResultStream, id: string): Promise<{ whole: Uint8Array } | { start: Uint8Array | Opened }> {
  const whole = await stream.whole?.(resultHead(id), RESULT_TAIL)
  return whole === undefined ? { start: await open(stream) } : { whole }
}

/**
 * Envelope and result in chunks. A failure in the middle of a result that is a value all the same becomes a member `error` behind it;
 * after any other failure nothing can be made whole, and it is thrown.
 */
async function* spliced(id: string, opened: Opened, sample: Sample, report: (e: unknown) => void): AsyncGenerator<Uint8Array, void> {
  yield encoder.encode(resultHead(id))
  yield* opened.ready
  let tail = RESULT_TAIL
  try {
    for (let chunk = await opened.stream.next(); chunk !== null; chunk = await opened.stream.next()) yield chunk
    sample.succeed()
  } catch (e) {
    if (!(e instanceof CoreError && WHOLE_KINDS.has(e.kind))) throw e
    const error = toRpcError(e, report)
    sample.fail(error)
    tail = lateError(error)
  }
  yield encoder.encode(tail)
}

/**
 * Chunks as a stream; `cancel` ends the work behind them. Where the client goes before the end, or the work fails in a way that has no
 * answer, the requests that are still open count as cut off.
 */
function toStream(
  ready: Uint8Array[],
  chunks: AsyncGenerator<Uint8Array, void>,
  samples: readonly Sample[],
  cancel: () => void,
): ResultStream {
  const cutOff = (): void => {
    for (const sample of samples) sample.cutOff()
  }
  return {
    async next() {
      const chunk = ready.shift()
      if (chunk !== undefined) return chunk
      try {
        const more = await chunks.next()
        return more.done === true ? null : more.value
      } catch (e) {
        cutOff()
        throw e
      }
    },
    isOver: () => false,
    cancel() {
      cutOff()
      cancel()
    },
  }
}

/** A result that came as one gzip member with its envelope. */
function packedAnswer(bytes: number, opened: Uint8Array | Opened, sample: Sample): Packed {
  if (opened instanceof Uint8Array) {
    sample.succeed()
    return new Packed(bytes, opened)
  }
  const chunks = async function* (): AsyncGenerator<Uint8Array, void> {
    yield* opened.ready
    for (let chunk = await opened.stream.next(); chunk !== null; chunk = await opened.stream.next()) yield chunk
    sample.succeed()
  }
  return new Packed(
    bytes,
    toStream([], chunks(), [sample], () => opened.stream.cancel()),
  )
}

/** Makes the dispatcher of a node. Failures that are this program's fault are told to `report`; every request is told to the meter. */
export function makeDispatch(given: Context, limits: BatchLimits, report: (e: unknown) => void, meter: RequestMeter = NO_METER): Dispatch {
  const { core, denied } = given
  const namespaces = servedNamespaces(given.namespaces, core.dev)
  const context: Surroundings = { ...given, namespaces, follow: new Following(core, given.following, report) }
  const table = methodTable(namespaces, denied)

  const lookUp = (name: string): Method => {
    const method = table.get(name)
    if (method === undefined) throw namespaceOf(name) === 'chain' && isMethod(name) ? chainDisabled(name) : methodNotFound(name)
    return method
  }

  /** A result as an answer. */
  function answered(result: Result, id: string | undefined, client: Client, sample: Sample): Promise<Answer> | Answer {
    if (!isStream(result)) {
      sample.succeed()
      return id === undefined ? undefined : splice(id, result)
    }
    if (id === undefined) {
      sample.succeed()
      result.cancel()
      return undefined
    }
    const ready = result.atOnce?.(resultHead(id), RESULT_TAIL, client.gzipOver)
    if (ready === undefined) return streamed(result, id, client, sample)
    client.origin = result.origin?.()
    sample.succeed()
    return ready
  }

  /** A stream as an answer, whole where all of it comes soon. */
  async function streamed(result: ResultStream, id: string, client: Client, sample: Sample): Promise<Answer> {
    client.onGone(() => result.cancel())
    if (client.address !== undefined) result.askedBy?.(client.address)
    if (client.gzipOver !== undefined) result.pack?.({ head: resultHead(id), tail: RESULT_TAIL, overBytes: client.gzipOver })
    const opened = await begin(result, id).finally(() => {
      client.origin = result.origin?.()
    })
    if ('whole' in opened) {
      sample.succeed()
      return opened.whole
    }
    const packed = result.packedBytes?.()
    if (packed !== undefined) return packedAnswer(packed, opened.start, sample)
    const { start } = opened
    if (!(start instanceof Uint8Array)) return toStream([], spliced(id, start, sample, report), [sample], () => result.cancel())
    sample.succeed()
    const whole = splice(id, start)
    giveBack(start)
    return whole
  }

  function single(call: Call | BadCall, client: Client, sample: Sample): Promise<Answer> | Answer {
    const refused = (error: RpcError): Uint8Array | undefined => {
      sample.fail(error)
      return call.id === undefined ? undefined : encoder.encode(errorAnswer(call.id, error))
    }
    if (isBad(call)) return refused(call.error)
    const { id } = call
    const { subscriber } = client
    const failed = (e: unknown): Answer => refused(toRpcError(e, report))
    try {
      const result = lookUp(call.method).call(subscriber === undefined ? context : { ...context, subscriber }, call.params)
      const answer = result instanceof Promise ? result.then((r) => answered(r, id, client, sample)) : answered(result, id, client, sample)
      return answer instanceof Promise ? answer.catch(failed) : answer
    } catch (e) {
      return failed(e)
    }
  }

  /** One entry of a batch: whole bytes, the start of a stream, or an error. */
  async function entry({ call, sample }: Entry, client: Client): Promise<Uint8Array | Opened | RpcError> {
    if (isBad(call)) return call.error
    let answer: Uint8Array | Opened | RpcError
    try {
      const result = await lookUp(call.method).call(context, call.params)
      if (isStream(result)) {
        client.onGone(() => result.cancel())
        if (client.address !== undefined) result.askedBy?.(client.address)
      }
      answer = isStream(result) ? await open(result) : result
    } catch (e) {
      answer = toRpcError(e, report)
    }
    // The answer may wait for those before it; the work is done.
    if (answer instanceof RpcError || !isOpened(answer)) sample.produced()
    return answer
  }

  /** The answer to a batch: as one piece where it is small, else as a stream. */
  async function batch(entries: readonly Entry[], client: Client): Promise<Answer> {
    const failAll = (error: RpcError): void => {
      for (const { sample } of entries) sample.fail(error)
    }
    if (entries.length > limits.requests) {
      const id = entries.find(({ call }) => !isBad(call) && call.id !== undefined)?.call.id ?? 'null'
      const error = invalidRequest('batch too large')
      failAll(error)
      return encoder.encode(`[${errorAnswer(id, error)}]`)
    }
    const opened = new Set<ResultStream>()
    const chunks = batchChunks(entries, client, opened)
    const ready: Uint8Array[] = []
    let size = 0
    try {
      for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) {
        ready.push(chunk.value)
        size += chunk.value.length
        if (size > BATCH_WHOLE_BYTES) {
          const samples = entries.map(({ sample }) => sample)
          return toStream(ready, chunks, samples, () => {
            for (const stream of opened) stream.cancel()
          })
        }
      }
    } catch (e) {
      const error = toRpcError(e, report)
      failAll(error)
      return encoder.encode(errorAnswer('null', error))
    }
    return ready.length === 0 ? undefined : Buffer.concat(ready)
  }

  /** The answer to a batch in chunks; none where nothing is to be answered. */
  async function* batchChunks(entries: readonly Entry[], client: Client, opened: Set<ResultStream>): AsyncGenerator<Uint8Array, void> {
    let size = 0
    let full = false
    let first = true
    for await (const [{ call, sample }, result] of inOrder()) {
      const { id } = call
      if (id === undefined) {
        if (result instanceof RpcError) sample.fail(result)
        else sample.succeed()
        if (isOpened(result)) result.stream.cancel()
        continue
      }
      yield encoder.encode(first ? '[' : ',')
      first = false
      if (result instanceof RpcError || full) {
        if (isOpened(result)) result.stream.cancel()
        const error = result instanceof RpcError && (isBad(call) || !full) ? result : responseTooLarge()
        sample.fail(error)
        yield encoder.encode(errorAnswer(id, error))
        continue
      }
      if (isOpened(result)) {
        // A stream costs no memory, however long it is: it is never cut off, but the requests after it may be.
        for await (const chunk of spliced(id, result, sample, report)) {
          size += chunk.length
          yield chunk
        }
        opened.delete(result.stream)
      } else {
        size += result.length
        sample.succeed()
        yield splice(id, result)
      }
      full = size > limits.responseBytes
    }
    if (!first) yield encoder.encode(']')

    /** Runs the entries, some at the same time, and gives them in order. A method that writes runs alone, after all before it. */
    async function* inOrder(): AsyncGenerator<[Entry, Uint8Array | Opened | RpcError]> {
      const running: { entry: Entry; result: Promise<Uint8Array | Opened | RpcError> }[] = []
      const oldest = async (): Promise<[Entry, Uint8Array | Opened | RpcError]> => {
        const { entry, result } = running.shift() as (typeof running)[number]
        const answer = await result
        if (isOpened(answer)) opened.add(answer.stream)
        return [entry, answer]
      }
      for (const next of entries) {
        const { call } = next
        const writes = !isBad(call) && table.get(call.method)?.cost === 'write'
        while (running.length >= limits.concurrency || (writes && running.length > 0)) yield await oldest()
        running.push({ entry: next, result: full && !isBad(call) ? Promise.resolve(responseTooLarge()) : entry(next, client) })
        if (writes) yield await oldest()
      }
      while (running.length > 0) yield await oldest()
    }
  }

  /** The answer to a client who asks for more than it may. */
  function tooMany({ calls, batch }: Message, { connection }: Client): Answer {
    const error = tooManyRequests()
    for (const call of calls) new Sample(meter, call.method, connection, meter.now()).fail(error)
    const id = calls.find((call) => call.id !== undefined)?.id ?? 'null'
    return encoder.encode(batch ? `[${errorAnswer(id, error)}]` : errorAnswer(id, error))
  }

  return (text, client) => {
    const arrived = meter.now()
    let message: Message
    try {
      message = parseMessage(text)
    } catch (e) {
      client.admit?.(1)
      const error = toRpcError(e, report)
      new Sample(meter, undefined, client.connection, arrived).fail(error)
      return encoder.encode(errorAnswer('null', error))
    }
    if (client.admit?.(message.calls.length) === false) return tooMany(message, client)
    const parsed = meter.now()
    const measured = (call: Call | BadCall): Sample => new Sample(meter, call.method, client.connection, parsed)
    if (message.batch)
      return batch(
        message.calls.map((call) => ({ call, sample: measured(call) })),
        client,
      )
    const [call] = message.calls
    return single(call, client, measured(call))
  }
}
