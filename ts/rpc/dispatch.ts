// From the text of a request to the bytes of its answer. Knows no transport.
import { CoreError } from '../core/error.ts'
import type { ResultStream } from '../core/port.ts'
import { type BadCall, type Call, errorAnswer, lateError, parseMessage, RESULT_TAIL, resultHead } from './envelope.ts'
import { invalidRequest, methodNotFound, RpcError, responseTooLarge, toRpcError } from './errors.ts'
import type { Context, Method, Result } from './method.ts'
import { methodTable } from './table.ts'

/** Limits of batches. */
export interface BatchLimits {
  /** Most requests in one batch. */
  readonly requests: number
  /** Bytes of results in the answer to one batch after which the remaining requests are refused. */
  readonly responseBytes: number
  /** Requests of one batch that run at the same time. */
  readonly concurrency: number
}

/** An answer: its bytes, a stream of them, or none (notifications). */
export type Answer = Uint8Array | ResultStream | undefined

/** Who waits for an answer. */
export interface Client {
  /** Calls back when nobody waits any more; at once where that is so already. May also call back after the answer was sent. */
  onGone(callback: () => void): void
}

/** Serves one request body or one WebSocket message. Work that streams is cancelled when its client goes. */
export type Dispatch = (text: string, client: Client) => Promise<Answer>

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

const isOpened = (result: Uint8Array | RpcError | Opened): result is Opened => 'stream' in result

/** The start of a stream; one of a single chunk is bytes. */
async function open(stream: ResultStream): Promise<Uint8Array | Opened> {
  const first = await stream.next()
  const second = first === null ? null : await stream.next()
  if (first === null || second === null) return first ?? encoder.encode('null')
  return { ready: [first, second], stream }
}

/**
 * Envelope and result in chunks. A failure in the middle of a result that is a value all the same becomes a member `error` behind it;
 * after any other failure nothing can be made whole, and it is thrown.
 */
async function* spliced(id: string, opened: Opened, report: (e: unknown) => void): AsyncGenerator<Uint8Array, void> {
  yield encoder.encode(resultHead(id))
  yield* opened.ready
  let tail = RESULT_TAIL
  try {
    for (let chunk = await opened.stream.next(); chunk !== null; chunk = await opened.stream.next()) yield chunk
  } catch (e) {
    if (!(e instanceof CoreError && WHOLE_KINDS.has(e.kind))) throw e
    tail = lateError(toRpcError(e, report))
  }
  yield encoder.encode(tail)
}

/** Chunks as a stream; `cancel` ends the work behind them. */
function toStream(ready: Uint8Array[], chunks: AsyncGenerator<Uint8Array, void>, cancel: () => void): ResultStream {
  return {
    async next() {
      const chunk = ready.shift()
      if (chunk !== undefined) return chunk
      const more = await chunks.next()
      return more.done === true ? null : more.value
    },
    cancel,
  }
}

/** Makes the dispatcher of a node. Failures that are this program's fault are told to `report`. */
export function makeDispatch(context: Context, limits: BatchLimits, report: (e: unknown) => void): Dispatch {
  const table = methodTable(context.namespaces)
  const failure = (id: string, e: unknown): Uint8Array => encoder.encode(errorAnswer(id, toRpcError(e, report)))

  const lookUp = (name: string): Method => {
    const method = table.get(name)
    if (method === undefined) throw methodNotFound(name)
    return method
  }

  async function single(call: Call | BadCall, client: Client): Promise<Answer> {
    if (isBad(call)) return failure(call.id, call.error)
    const { id } = call
    try {
      const result = await lookUp(call.method).call(context, call.params)
      if (!isStream(result)) return id === undefined ? undefined : splice(id, result)
      if (id === undefined) {
        result.cancel()
        return undefined
      }
      client.onGone(() => result.cancel())
      const opened = await open(result)
      if (opened instanceof Uint8Array) return splice(id, opened)
      return toStream([], spliced(id, opened, report), () => result.cancel())
    } catch (e) {
      return id === undefined ? undefined : failure(id, e)
    }
  }

  /** One entry of a batch: whole bytes, the start of a stream, or an error. */
  async function entry(call: Call, client: Client): Promise<Uint8Array | Opened | RpcError> {
    try {
      const result = await lookUp(call.method).call(context, call.params)
      if (!isStream(result)) return result
      client.onGone(() => result.cancel())
      return await open(result)
    } catch (e) {
      return toRpcError(e, report)
    }
  }

  /** The answer to a batch: as one piece where it is small, else as a stream. */
  async function batch(calls: readonly (Call | BadCall)[], client: Client): Promise<Answer> {
    if (calls.length > limits.requests) {
      const id = calls.find((call) => !isBad(call) && call.id !== undefined)?.id ?? 'null'
      return encoder.encode(`[${errorAnswer(id, invalidRequest('batch too large'))}]`)
    }
    const opened = new Set<ResultStream>()
    const chunks = batchChunks(calls, client, opened)
    const ready: Uint8Array[] = []
    let size = 0
    for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) {
      ready.push(chunk.value)
      size += chunk.value.length
      if (size > BATCH_WHOLE_BYTES) {
        return toStream(ready, chunks, () => {
          for (const stream of opened) stream.cancel()
        })
      }
    }
    return ready.length === 0 ? undefined : Buffer.concat(ready)
  }

  /** The answer to a batch in chunks; none where nothing is to be answered. */
  async function* batchChunks(
    calls: readonly (Call | BadCall)[],
    client: Client,
    opened: Set<ResultStream>,
  ): AsyncGenerator<Uint8Array, void> {
    let size = 0
    let full = false
    let first = true
    for await (const [call, result] of inOrder(calls)) {
      const { id } = call
      if (id === undefined) {
        if (isOpened(result)) result.stream.cancel()
        continue
      }
      yield encoder.encode(first ? '[' : ',')
      first = false
      if (result instanceof RpcError || full) {
        if (isOpened(result)) result.stream.cancel()
        yield failure(id, full && !isBad(call) ? responseTooLarge() : result)
        continue
      }
      if (isOpened(result)) {
        // A stream costs no memory, however long it is: it is never cut off, but the requests after it may be.
        for await (const chunk of spliced(id, result, report)) {
          size += chunk.length
          yield chunk
        }
        opened.delete(result.stream)
      } else {
        size += result.length
        yield splice(id, result)
      }
      full = size > limits.responseBytes
    }
    if (!first) yield encoder.encode(']')

    /** Runs the entries, some at the same time, and gives them in order. A method that writes runs alone, after all before it. */
    async function* inOrder(entries: readonly (Call | BadCall)[]): AsyncGenerator<[Call | BadCall, Uint8Array | Opened | RpcError]> {
      const running: { call: Call | BadCall; result: Promise<Uint8Array | Opened | RpcError> }[] = []
      const oldest = async (): Promise<[Call | BadCall, Uint8Array | Opened | RpcError]> => {
        const { call, result } = running.shift() as (typeof running)[number]
        const answer = await result
        if (isOpened(answer)) opened.add(answer.stream)
        return [call, answer]
      }
      for (const call of entries) {
        const writes = !isBad(call) && table.get(call.method)?.cost === 'write'
        while (running.length >= limits.concurrency || (writes && running.length > 0)) yield await oldest()
        running.push({
          call,
          result: isBad(call) ? Promise.resolve(call.error) : full ? Promise.resolve(responseTooLarge()) : entry(call, client),
        })
        if (writes) yield await oldest()
      }
      while (running.length > 0) yield await oldest()
    }
  }

  return async (text, client) => {
    try {
      const message = parseMessage(text)
      return message.batch ? await batch(message.calls, client) : await single(message.calls[0], client)
    } catch (e) {
      return failure('null', e)
    }
  }
}
