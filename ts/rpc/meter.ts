// The dispatcher's measurements of every request, and their receivers. Numbers stand for labels, so
// that a measurement needs no object.

import type { RpcError } from './errors.ts'
import type { Counted, LabelValues } from './instruments.ts'
import { CUT_OFF, OUTCOMES, type Outcome, outcomeOf, SUCCESS } from './outcome.ts'
import { METHODS } from './table.ts'

/** How clients are connected: the values of the label `connection`. */
export const CONNECTIONS = ['http', 'websocket'] as const

/** How a client is connected. */
export type Connection = (typeof CONNECTIONS)[number]

/**
 * Records one sample per request. Connections and outcomes are positions in `CONNECTIONS` and
 * `OUTCOMES`, endpoints in `ENDPOINTS`.
 */
export interface RequestMeter {
  /** Milliseconds on a clock that never goes back. */
  now(): number
  /** A request is over; both times are of `now`. */
  request(endpoint: number, connection: number, outcome: number, began: number, ended: number): void
  /**
   * Counts one in the series of a counter that has these values of its labels. Values that the
   * table does not list for a label are not counted.
   */
  count<K extends Counted>(counter: K, ...labels: LabelValues<K>): void
}

/** Takes nothing. */
export const NO_METER: RequestMeter = { now: () => 0, request: () => undefined, count: () => undefined }

/** A request that took long. */
export interface SlowRequest {
  /** Undefined where none could be read. */
  readonly method: string | undefined
  readonly connection: Connection
  /** Whose it was, by address. */
  readonly client: string | undefined
  /** From the parsed request to the last byte of the answer. */
  readonly ms: number
  /** Bytes of the result. */
  readonly bytes: number
  readonly success: boolean
  /** Empty on success. */
  readonly errorClass: Outcome['errorClass']
}

/** Characters of a method's name, and of an id, that the log shows: clients may send any. */
export const SHOWN_CHARACTERS_MAX = 64

/** A request as lines of the log name it. */
export type RequestInfo = {
  readonly method: string | undefined
  readonly connection: Connection
  readonly client: string | undefined
}

/** Receives requests that take long, and what this thread begins. */
export interface Watch {
  readonly overMs: number
  /** Its only number is what was begun last, by the positions of `BEGUN_NAMES`. */
  readonly begun: Uint32Array
  slow(request: SlowRequest): void
}

/** Watches nothing. */
export const NO_WATCH: Watch = { overMs: Number.POSITIVE_INFINITY, begun: new Uint32Array(1), slow: () => undefined }

/** Whose a request is. */
export interface Sender {
  readonly connection: Connection
  readonly address?: string
}

/**
 * Values of the label `endpoint`: the names of all methods, `unknown` for other names, `invalid` if
 * no name could be parsed.
 */
export const ENDPOINTS: readonly string[] = [...METHODS.map((m) => m.name), 'unknown', 'invalid']

const UNKNOWN = METHODS.length
const INVALID = UNKNOWN + 1
const numbers = new Map(METHODS.map((m, i) => [m.name, i]))

/** The endpoint of a request by the name of its method; undefined where none could be read. */
export const endpointOf = (method: string | undefined): number => (method === undefined ? INVALID : (numbers.get(method) ?? UNKNOWN))

/**
 * What this thread may begin: nothing, parsing a request, and from `ENDPOINT_FIRST` on the
 * endpoints.
 */
export const BEGUN_NAMES: readonly string[] = ['none', 'reading_request', ...ENDPOINTS]

/** The position of reading a request. */
export const READING_REQUEST = 1
const ENDPOINT_FIRST = 2

/** One request under way: gives exactly one sample, however it ends. */
export class Sample {
  private readonly meter: RequestMeter
  private readonly method: string | undefined
  private readonly endpoint: number
  private readonly sender: Sender
  private readonly connection: number
  private readonly began: number
  private readonly watch: Watch
  private ended: number | undefined
  private bytes = 0
  private isRecorded = false
  private isHistorical = false

  constructor(meter: RequestMeter, method: string | undefined, sender: Sender, began: number, watch: Watch = NO_WATCH) {
    this.meter = meter
    this.method = method
    this.endpoint = endpointOf(method)
    this.sender = sender
    this.connection = CONNECTIONS.indexOf(sender.connection)
    this.began = began
    this.watch = watch
  }

  /** Whose request it is, for the log. */
  get about(): RequestInfo {
    const { method, sender } = this
    return { method: method?.slice(0, SHOWN_CHARACTERS_MAX), connection: sender.connection, client: sender.address }
  }

  /** Its handler is called now. */
  begin(): void {
    this.watch.begun[0] = this.endpoint + ENDPOINT_FIRST
  }

  /** Its block is further below the head than traces may look back; counts once. */
  historical(): void {
    if (!this.isHistorical) this.meter.count('historicalTraces', this.method ?? '', this.sender.connection)
    this.isHistorical = true
  }

  /** So many bytes of the result are there. */
  made(bytes: number): void {
    this.bytes += bytes
  }

  /** The last byte is there, though what becomes of it is still open: the clock stops. */
  produced(): void {
    this.ended ??= this.meter.now()
  }

  /** The request ended with a result. */
  succeed(): void {
    this.end(SUCCESS)
  }

  /** The request ended with an error. */
  fail(error: RpcError): void {
    this.end(outcomeOf(error))
  }

  /** The answer was cut off. */
  cutOff(): void {
    this.end(CUT_OFF)
  }

  private end(outcome: number): void {
    if (this.isRecorded) return
    this.isRecorded = true
    const ended = this.ended ?? this.meter.now()
    this.meter.request(this.endpoint, this.connection, outcome, this.began, ended)
    const ms = ended - this.began
    if (ms > this.watch.overMs) this.tellSlow(ms, outcome)
  }

  private tellSlow(ms: number, outcome: number): void {
    const { method, sender, bytes } = this
    const { connection, address: client } = sender
    const { success, errorClass } = OUTCOMES[outcome] as Outcome
    this.watch.slow({ method, connection, client, ms, bytes, success, errorClass })
  }
}
