// From the text of a request to the bytes of its answer. Knows no transport.
import type { ResultStream } from '../core/port.ts'
import { type BadCall, type Call, errorAnswer, parseMessage, RESULT_TAIL, resultHead } from './envelope.ts'
import { CODE, invalidRequest, methodNotFound, RpcError, responseTooLarge, toRpcError } from './errors.ts'
import type { Context, Method, Result } from './method.ts'
import { methodTable } from './table.ts'

/** Limits of batches. */
export interface BatchLimits {
  /** Most requests in one batch. */
  readonly requests: number
  /** Most bytes of results in the answer to one batch. */
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

/**
 * The answer around a stream. The first chunk is taken before anything is sent, so a request that fails at once is an ordinary error; a
 * stream of one chunk becomes bytes.
 */
async function spliceStream(id: string, stream: ResultStream): Promise<Uint8Array | ResultStream> {
  const first = await stream.next()
  const second = first === null ? null : await stream.next()
  if (first === null || second === null) return splice(id, first ?? encoder.encode('null'))
  const ready: Uint8Array[] = [encoder.encode(resultHead(id)), first, second]
  let ended = false
  return {
    async next() {
      const chunk = ready.shift()
      if (chunk !== undefined) return chunk
      if (ended) return null
      const more = await stream.next()
      if (more !== null) return more
      ended = true
      return encoder.encode(RESULT_TAIL)
    },
    cancel: () => stream.cancel(),
  }
}

/** A stream's bytes as one piece; past the limit it is cancelled and refused. */
async function collect(stream: ResultStream, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) {
    size += chunk.length
    if (size > limit) {
      stream.cancel()
      throw responseTooLarge()
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
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
      return await spliceStream(id, result)
    } catch (e) {
      return id === undefined ? undefined : failure(id, e)
    }
  }

  /** One entry of a batch: whole bytes, or an error. */
  async function entry(call: Call, client: Client): Promise<Uint8Array | RpcError> {
    try {
      const result = await lookUp(call.method).call(context, call.params)
      if (!isStream(result)) return result
      client.onGone(() => result.cancel())
      return await collect(result, limits.responseBytes)
    } catch (e) {
      return toRpcError(e, report)
    }
  }

  async function batch(calls: readonly (Call | BadCall)[], client: Client): Promise<Answer> {
    if (calls.length > limits.requests) {
      const id = calls.find((call) => !isBad(call) && call.id !== undefined)?.id ?? 'null'
      return encoder.encode(`[${errorAnswer(id, invalidRequest('batch too large'))}]`)
    }
    const parts: Uint8Array[] = []
    const add = (bytes: Uint8Array): void => {
      parts.push(encoder.encode(parts.length === 0 ? '[' : ','), bytes)
    }
    let size = 0
    let full = false
    for await (const [call, result] of inOrder(calls)) {
      const { id } = call
      if (id === undefined) continue
      if (result instanceof RpcError || full) {
        add(failure(id, full && !isBad(call) ? responseTooLarge() : result))
        // A result that was cut off because it alone passes the limit ends the batch, as one that passes it together with others.
        if (result instanceof RpcError && result.code === CODE.responseTooLarge) full = true
        continue
      }
      size += result.length
      add(splice(id, result))
      full = size > limits.responseBytes
    }
    if (parts.length === 0) return undefined
    parts.push(encoder.encode(']'))
    return Buffer.concat(parts)

    /** Runs the entries, some at the same time, and gives them in order. A method that writes runs alone, after all before it. */
    async function* inOrder(entries: readonly (Call | BadCall)[]): AsyncGenerator<[Call | BadCall, Uint8Array | RpcError]> {
      const running: { call: Call | BadCall; result: Promise<Uint8Array | RpcError> }[] = []
      const oldest = async (): Promise<[Call | BadCall, Uint8Array | RpcError]> => {
        const { call, result } = running.shift() as (typeof running)[number]
        return [call, await result]
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
