// From the text of a message to its reply. Knows no transport.
import type { BatchLimits, Entry } from './batch.ts'
import { answerBatch } from './batch-reply.ts'
import type { Client } from './client.ts'
import { type BadCall, type Call, errorAnswer, type Message, parseInTurns, parseMessage, READ_AT_ONCE_MAX } from './envelope.ts'
import { RpcError, tooManyRequests, toRpcError } from './errors.ts'
import { Invoker, type Report } from './invoke.ts'
import { CONNECTIONS, endpointOf, NO_METER, NO_WATCH, READING_REQUEST, type RequestMeter, Sample, type Watch } from './meter.ts'
import type { Context } from './method.ts'
import { outcomeOf } from './outcome.ts'
import { errorBody, type Reply } from './reply.ts'
import { BatchTooLarge, type Received, type ScannedText } from './scan.ts'
import { answerSingle } from './single.ts'

export type { BatchLimits } from './batch.ts'
export type { Client } from './client.ts'
export type { Report } from './invoke.ts'

/**
 * Answers one request body or one WebSocket message; never rejects. Work that streams is cancelled
 * when its client goes. What needs no waiting is answered without a promise.
 */
export type Dispatch = (body: Received, client: Client) => Promise<Reply> | Reply

/**
 * Makes the dispatcher of a node. Failures that are this program's fault go to `report`, a sample
 * of every request to the meter.
 */
export function makeDispatch(
  given: Context,
  limits: BatchLimits,
  report: Report,
  meter: RequestMeter = NO_METER,
  watch: Watch = NO_WATCH,
): Dispatch {
  const dispatcher = new Dispatcher(new Invoker(given, report, meter), limits, report, meter, watch)
  return (body, client) => dispatcher.dispatch(body, client)
}

/** Why no request of a message is run. */
interface Refusal {
  readonly error: RpcError
  readonly methods: readonly (string | undefined)[]
  readonly id: string | undefined
  readonly batch: boolean
  /** Milliseconds until the requests may be sent again; 0 where the rate limit let them in. */
  readonly waitMs: number
}

class Dispatcher {
  private readonly invoker: Invoker
  private readonly limits: BatchLimits
  private readonly report: Report
  private readonly meter: RequestMeter
  private readonly watch: Watch

  constructor(invoker: Invoker, limits: BatchLimits, report: Report, meter: RequestMeter, watch: Watch) {
    this.invoker = invoker
    this.limits = limits
    this.report = report
    this.meter = meter
    this.watch = watch
  }

  dispatch(body: Received, client: Client): Promise<Reply> | Reply {
    this.beginReading()
    const arrived = this.meter.now()
    if (body instanceof RpcError) return this.unread(body, client, arrived)
    const { length } = typeof body === 'string' ? body : body.text
    if (length > READ_AT_ONCE_MAX) return this.large(body, client, arrived)
    let message: Message
    try {
      message = parseMessage(body, this.limits)
    } catch (e) {
      return this.unread(e, client, arrived)
    }
    return this.served(message, client)
  }

  private beginReading(): void {
    this.watch.begun[0] = READING_REQUEST
  }

  /** The reply to a large message, which is parsed in time slices shared with other messages. */
  private async large(body: string | ScannedText, client: Client, arrived: number): Promise<Reply> {
    let message: Message
    try {
      message = await parseInTurns(body, this.limits, () => this.beginReading())
    } catch (e) {
      return this.unread(e, client, arrived)
    }
    return await this.served(message, client)
  }

  /** The reply to a message that was read. */
  private served(message: Message, client: Client): Promise<Reply> | Reply {
    const waitMs = client.admit?.(message.calls.length) ?? 0
    if (waitMs > 0) return this.tooMany(message, client, waitMs)
    const parsed = this.meter.now()
    const measured = (call: Call | BadCall): Entry => ({ call, sample: new Sample(this.meter, call.method, client, parsed, this.watch) })
    if (message.batch) return answerBatch(this.invoker, message.calls.map(measured), client, this.limits, this.report)
    const { call, sample } = measured(message.calls[0])
    return answerSingle(this.invoker, call, client, sample)
  }

  /** The reply to a message of which no request is run. */
  private refuseAll(client: Client, began: number, { error, methods, id = 'null', batch, waitMs }: Refusal): Reply {
    const [connection, outcome, ended] = [CONNECTIONS.indexOf(client.connection), outcomeOf(error), this.meter.now()]
    for (const method of methods) this.meter.request(endpointOf(method), connection, outcome, began, ended)
    const body = batch ? ({ kind: 'bytes', bytes: Buffer.from(`[${errorAnswer(id, error)}]`) } as const) : errorBody(id, error)
    return { body, headers: waitMs > 0 ? { retryAfterMs: waitMs } : {} }
  }

  /** The reply to a client that sends more requests than it may. */
  private tooMany({ calls, batch }: Message, client: Client, waitMs: number): Reply {
    const methods = calls.map((call) => call.method)
    const id = calls.find((call) => call.id !== undefined)?.id
    return this.refuseAll(client, this.meter.now(), { error: tooManyRequests(), methods, id, batch, waitMs })
  }

  /** The reply to a message that cannot be read or is beyond a limit. */
  private unread(e: unknown, client: Client, arrived: number): Reply {
    if (e instanceof BatchTooLarge) {
      // For the rate limit it counts as a batch of the largest size.
      const waitMs = client.admit?.(this.limits.requests) ?? 0
      const error = waitMs > 0 ? tooManyRequests() : e
      return this.refuseAll(client, arrived, { error, methods: e.methods, id: e.id, batch: true, waitMs })
    }
    const waitMs = client.admit?.(1) ?? 0
    const error = toRpcError(e, this.report)
    return this.refuseAll(client, arrived, { error, methods: [undefined], id: undefined, batch: false, waitMs })
  }
}
