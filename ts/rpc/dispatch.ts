// From the text of a request to the bytes of its answer. Knows no transport.
import { giveBack } from '../core/chunks.ts'
import type { CoreAsker, ReadyTrace, ResultStream, TraceOrigin } from '../core/port.ts'
import { Batch, type BatchLimits, type Entry, isBad, isOpened, type Opened, type Outcome, type Runner, spliced } from './batch.ts'
import {
  type BadCall,
  type Call,
  errorAnswer,
  type Message,
  parseInTurns,
  parseMessage,
  READ_AT_ONCE_MAX,
  RESULT_TAIL,
  resultHead,
} from './envelope.ts'
import { type RpcError, tooManyRequests, toRpcError, unauthorized } from './errors.ts'
import { Following } from './follow/index.ts'
import {
  CONNECTIONS,
  type Connection,
  endpointOf,
  NO_METER,
  NO_WATCH,
  READING_REQUEST,
  type RequestInfo,
  type RequestMeter,
  Sample,
  SHOWN_CHARACTERS_MAX,
  type Watch,
} from './meter.ts'
import type { Context, Method, Result, Surroundings } from './method.ts'
import { type PlainTrace, plainTrace, readyTraces } from './plain-trace.ts'
import { REDIRECT_FAILURES, REDIRECTED_METHODS } from './redirect.ts'
import { BatchTooLarge } from './scan.ts'
import { FORWARDED_ALREADY, type Redirect } from './submission.ts'
import type { Subscriber } from './subscription.ts'
import { isLegacy, methodTable, namespaceOf, servedMethod, servedNamespaces } from './table.ts'

export type { BatchLimits } from './batch.ts'

/** An answer that is one gzip member already, for a client that takes it. */
export class Packed {
  /** Its bytes, envelope included. */
  readonly bytes: number
  /** Text is of short ones: each of its characters is a byte (Latin-1). */
  readonly body: Uint8Array | string | ResultStream

  constructor(bytes: number, body: Uint8Array | string | ResultStream) {
    this.bytes = bytes
    this.body = body
  }
}

/**
 * An answer: its bytes; of a short one text of which each character is a byte (Latin-1); a stream of bytes; one in gzip; or none
 * (notifications).
 */
export type Answer = Uint8Array | string | ResultStream | Packed | undefined

/** The bytes of an answer that is text. */
export const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1')

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
  /** Namespaces that this client may not ask for, and why; undefined: none. */
  readonly barred?: { readonly namespaces: ReadonlySet<string>; readonly why: string } | undefined
  /** Told what is probably a mistake in a request; absent where the client cannot be told. */
  warn?(warning: string): void
  /** Whether another node forwarded the request; it is not forwarded again. */
  readonly forwarded?: boolean
  /** Set when a method of the namespace `chain` is called. */
  usedLegacy?: boolean
  /** Set to the validator that a single request went to. */
  redirectedTo?: string | undefined
  /** Told where a single request is refused for that. */
  denied?: boolean
  /** Told what the answer to a single request is made from, where the core says. */
  origin?: TraceOrigin | undefined
  /** Told how long the work of a single request waited for its thread, in milliseconds, where the core says. */
  waitedMs?: number | undefined
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
const isStream = (result: Result): result is ResultStream => typeof result === 'object' && !(result instanceof Uint8Array)

/** Text of which each character is a byte in UTF-8 too. */
const ASCII = /^[\x20-\x7e]*$/

/** A short result in its envelope. */
function around(id: string, result: string): Uint8Array | string {
  const text = resultHead(id) + result + RESULT_TAIL
  return ASCII.test(text) ? text : Buffer.from(text)
}

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
  sample.made(bytes)
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

/** Why no request of a message is run. */
interface Refusal {
  readonly error: RpcError
  readonly methods: readonly (string | undefined)[]
  readonly id: string | undefined
  readonly batch: boolean
}

/** A client as whoever asks the core, with the measurement of its request. */
class Asker implements CoreAsker {
  readonly address: string
  private readonly client: Client
  private readonly sample: Sample

  constructor(address: string, client: Client, sample: Sample) {
    this.address = address
    this.client = client
    this.sample = sample
  }

  onGone(callback: () => void): void {
    this.client.onGone(callback)
  }

  historical(): void {
    this.sample.historical()
  }
}

/** What handlers work with for a client: the same for all, but that forwarded requests are counted by connection. */
function forwarding(context: Surroundings, meter: RequestMeter): (client: Client) => Surroundings {
  const { submission } = context
  if (typeof submission !== 'function') return () => context
  const again: Surroundings = { ...context, submission: FORWARDED_ALREADY }
  const counting = CONNECTIONS.map((_, connection): Surroundings => {
    const counted: typeof submission = (method, params, waitMs) => {
      meter.redirected(endpointOf(method), connection)
      return submission(method, params, waitMs)
    }
    return { ...context, submission: counted }
  })
  return ({ connection, forwarded }) => (forwarded === true ? again : (counting[CONNECTIONS.indexOf(connection)] ?? context))
}

/** What sends a client's requests to validators; undefined where they stay here. */
function redirecting({ redirects }: Context, meter: RequestMeter): (method: Method, client: Client) => Redirect | undefined {
  if (redirects === undefined) return () => undefined
  const names: ReadonlySet<string> = new Set(REDIRECTED_METHODS)
  return ({ name }, client) => {
    if (!names.has(name) || client.forwarded === true) return undefined
    const connection = CONNECTIONS.indexOf(client.connection)
    return (sender, method, params) =>
      redirects.send(sender, method, params, {
        sent: (owner) => {
          meter.redirected(endpointOf(method), connection)
          client.redirectedTo = owner
        },
        failed: (reason) => {
          client.redirectedTo = undefined
          meter.redirectFailed(REDIRECT_FAILURES.indexOf(reason))
        },
      })
  }
}

/** Told of failures that are this program's fault, and of the request that met them. */
export type Report = (e: unknown, about?: RequestInfo & { readonly id: string | undefined }) => void

/** Makes the dispatcher of a node. Failures that are this program's fault are told to `report`; every request is told to the meter. */
export function makeDispatch(
  given: Context,
  limits: BatchLimits,
  report: Report,
  meter: RequestMeter = NO_METER,
  watch: Watch = NO_WATCH,
): Dispatch {
  const { core, denied } = given
  const namespaces = servedNamespaces(given.namespaces, core.dev)
  const context: Surroundings = { ...given, namespaces, follow: new Following(core, given.following, report) }
  const table = methodTable(namespaces, denied, given.only, given.legacyChain)
  const contextOf = forwarding(context, meter)
  const redirectOf = redirecting(given, meter)
  const { begun } = watch

  /** Reports failures of one request. */
  const reporting =
    (sample: Sample, id: string | undefined): ((e: unknown) => void) =>
    (e) =>
      report(e, { ...sample.about, id: id?.slice(0, SHOWN_CHARACTERS_MAX) })

  const lookUp = (name: string, client: Client): Method => {
    const { barred } = client
    if (barred?.namespaces.has(namespaceOf(name)) === true) throw unauthorized(barred.why)
    const method = servedMethod(table, name)
    if (isLegacy(name)) client.usedLegacy = true
    return method
  }

  /** What a handler works with. Long work is asked for in its client's name, so that clients take turns, and ends when that goes. */
  const surroundingsOf = (method: Method, client: Client, sample: Sample, subscriber?: Subscriber): Surroundings => {
    const { address } = client
    const redirect = redirectOf(method, client)
    const ofClient = redirect === undefined ? contextOf(client) : { ...contextOf(client), redirect }
    const context = method.keeps ? { ...ofClient, client: address } : ofClient
    if (subscriber === undefined && (method.cost === 'read' || address === undefined)) return context
    if (method.cost === 'read' || address === undefined) return { ...context, subscriber }
    const warn = client.warn && ((warning: string): void => client.warn?.(warning))
    if (core.askedBy === undefined) return { ...context, subscriber, warn }
    return { ...context, subscriber, warn, core: core.askedBy(new Asker(address, client, sample)) }
  }

  /** A result as an answer. */
  function answered(result: Result, id: string | undefined, client: Client, sample: Sample): Promise<Answer> | Answer {
    if (!isStream(result)) {
      sample.made(result.length)
      sample.succeed()
      if (id === undefined) return undefined
      return typeof result === 'string' ? around(id, result) : splice(id, result)
    }
    if (id === undefined) {
      sample.succeed()
      result.cancel()
      return undefined
    }
    const ready = result.atOnce?.(resultHead(id), RESULT_TAIL, client.gzipOver)
    if (ready === undefined) return streamed(result, id, client, sample)
    client.origin = result.origin?.()
    sample.made(ready.length)
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
      client.waitedMs = result.waitedMs?.()
    })
    if ('whole' in opened) {
      sample.made(opened.whole.length)
      sample.succeed()
      return opened.whole
    }
    const packed = result.packedBytes?.()
    if (packed !== undefined) return packedAnswer(packed, opened.start, sample)
    const { start } = opened
    if (!(start instanceof Uint8Array))
      return toStream([], spliced(id, start, sample, reporting(sample, id)), [sample], () => result.cancel())
    sample.made(start.length)
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
    const failed = (e: unknown): Answer => refused(toRpcError(e, reporting(sample, id)))
    if (client.barred?.namespaces.has(namespaceOf(call.method)) === true) client.denied = true
    sample.begin()
    try {
      const method = lookUp(call.method, client)
      const result = method.call(surroundingsOf(method, client, sample, client.subscriber), call.params)
      const answer = result instanceof Promise ? result.then((r) => answered(r, id, client, sample)) : answered(result, id, client, sample)
      return answer instanceof Promise ? answer.catch(failed) : answer
    } catch (e) {
      return failed(e)
    }
  }

  /** One entry of a batch. */
  function entry({ call, sample }: Entry, client: Client): Promise<Outcome> | Outcome {
    if (isBad(call)) return call.error
    const failed = (e: unknown): RpcError => toRpcError(e, reporting(sample, call.id))
    const begun = (result: Result): Promise<Outcome> | Outcome => {
      if (!isStream(result)) return result
      client.onGone(() => result.cancel())
      if (client.address !== undefined) result.askedBy?.(client.address)
      return open(result)
    }
    // The answer may wait for those before it; the work is done.
    const done = (outcome: Outcome): Outcome => {
      if (!isOpened(outcome)) sample.produced()
      return outcome
    }
    sample.begin()
    try {
      const method = lookUp(call.method, client)
      const result = method.call(surroundingsOf(method, client, sample), call.params)
      const outcome = result instanceof Promise ? result.then(begun) : begun(result)
      return outcome instanceof Promise ? outcome.catch(failed).then(done) : outcome
    } catch (e) {
      return failed(e)
    }
  }

  /** The answer to a batch: as one piece where it is small, else as a stream. */
  async function batched(entries: readonly Entry[], client: Client): Promise<Answer> {
    const failAll = (error: RpcError): void => {
      for (const { sample } of entries) sample.fail(error)
    }
    const runner: Runner = {
      run: (next) => entry(next, client),
      writes: (call) => !isBad(call) && table.get(call.method)?.cost === 'write',
      report: (e, { call, sample }) => reporting(sample, call.id)(e),
    }
    const batch = new Batch(entries, limits, runner)
    const chunks = batch.chunks()
    const ready: Uint8Array[] = []
    let size = 0
    try {
      for (let chunk = await chunks.next(); chunk.done !== true; chunk = await chunks.next()) {
        ready.push(chunk.value)
        size += chunk.value.length
        if (size > BATCH_WHOLE_BYTES) {
          const samples = entries.map(({ sample }) => sample)
          return toStream(ready, chunks, samples, () => batch.cancel())
        }
      }
    } catch (e) {
      const error = toRpcError(e, report)
      failAll(error)
      return encoder.encode(errorAnswer('null', error))
    }
    return ready.length > 1 ? Buffer.concat(ready) : ready[0]
  }

  const findReady = readyTraces(core, table, given.trace)

  /** A request for a trace that may be ready. */
  function toFind(text: string, client: Client): PlainTrace | undefined {
    const trace = findReady && plainTrace(text)
    return trace && client.barred?.namespaces.has(namespaceOf(trace.method)) !== true ? trace : undefined
  }

  /** Where that fails, the ordinary way says why. */
  function find(trace: PlainTrace, client: Client): ReadyTrace | undefined {
    try {
      return findReady?.(trace, client.gzipOver)
    } catch (e) {
      report(e)
      return undefined
    }
  }

  /** The answer to a trace, where it is ready. */
  function ready(trace: PlainTrace, client: Client, arrived: number): Answer {
    const found = find(trace, client)
    if (found === undefined) return undefined
    const { body, packed, historical } = found
    const sample = new Sample(meter, trace.method, client, arrived, watch)
    sample.begin()
    if (historical) sample.historical()
    client.origin = 'baked'
    sample.made(body.length)
    sample.succeed()
    return packed ? new Packed(body.length, body) : body
  }

  /** Answers a message of which no request is run. */
  function refuseAll(client: Client, began: number, { error, methods, id, batch }: Refusal): Answer {
    for (const method of methods) new Sample(meter, method, client, began).fail(error)
    const answer = errorAnswer(id ?? 'null', error)
    return encoder.encode(batch ? `[${answer}]` : answer)
  }

  /** The answer to a client who asks for more than it may. */
  function tooMany({ calls, batch }: Message, client: Client): Answer {
    const methods = calls.map((call) => call.method)
    const id = calls.find((call) => call.id !== undefined)?.id
    return refuseAll(client, meter.now(), { error: tooManyRequests(), methods, id, batch })
  }

  /** The answer to a message that cannot be read or is beyond a limit. */
  function unread(e: unknown, client: Client, arrived: number): Answer {
    if (e instanceof BatchTooLarge) {
      // For the rate limit it counts as a batch of the largest size.
      const error = client.admit?.(limits.requests) === false ? tooManyRequests() : e
      return refuseAll(client, arrived, { error, methods: e.methods, id: e.id, batch: true })
    }
    client.admit?.(1)
    return refuseAll(client, arrived, { error: toRpcError(e, report), methods: [undefined], id: undefined, batch: false })
  }

  /** The answer to a large text, which is read in turns with those of others. */
  async function large(text: string, client: Client, arrived: number): Promise<Answer> {
    let message: Message
    try {
      message = await parseInTurns(text, limits, () => {
        begun[0] = READING_REQUEST
      })
    } catch (e) {
      return unread(e, client, arrived)
    }
    return await served(message, client)
  }

  /** The answer to a message that was read. `isLetIn` says whether the rate limit lets it in, where that was asked. */
  function served(message: Message, client: Client, isLetIn?: boolean): Promise<Answer> | Answer {
    if (!(isLetIn ?? client.admit?.(message.calls.length) !== false)) return tooMany(message, client)
    const parsed = meter.now()
    const measured = (call: Call | BadCall): Sample => new Sample(meter, call.method, client, parsed, watch)
    if (message.batch)
      return batched(
        message.calls.map((call) => ({ call, sample: measured(call) })),
        client,
      )
    const [call] = message.calls
    return single(call, client, measured(call))
  }

  return (text, client) => {
    begun[0] = READING_REQUEST
    const arrived = meter.now()
    const trace = toFind(text, client)
    // It is one request, whatever becomes of it.
    const isLetIn = trace && client.admit?.(1) !== false
    if (trace !== undefined && isLetIn) {
      const answer = ready(trace, client, arrived)
      if (answer !== undefined) return answer
    }
    if (text.length > READ_AT_ONCE_MAX) return large(text, client, arrived)
    let message: Message
    try {
      message = parseMessage(text, limits)
    } catch (e) {
      return unread(e, client, arrived)
    }
    return served(message, client, isLetIn)
  }
}
