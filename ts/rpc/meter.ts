// What the dispatcher tells of every request, and to whom. Numbers stand for labels, so that telling costs no object.

import type { RpcError } from './errors.ts'
import { CUT_OFF, outcomeOf, SUCCESS } from './outcome.ts'
import { METHODS } from './table.ts'

/** How clients are connected: the values of the label `connection`. */
export const CONNECTIONS = ['http', 'websocket'] as const

/** How a client is connected. */
export type Connection = (typeof CONNECTIONS)[number]

/** Takes one sample a request. Connections and outcomes are positions in `CONNECTIONS` and `OUTCOMES`, endpoints in `ENDPOINTS`. */
export interface RequestMeter {
  /** Milliseconds on a clock that never goes back. */
  now(): number
  /** A request is over; both times are of `now`. */
  request(endpoint: number, connection: number, outcome: number, began: number, ended: number): void
}

/** Takes nothing. */
export const NO_METER: RequestMeter = { now: () => 0, request: () => undefined }

/** Values of the label `endpoint`: the names of all methods, `unknown` for other names, `invalid` where no name could be read. */
export const ENDPOINTS: readonly string[] = [...METHODS.map((m) => m.name), 'unknown', 'invalid']

const UNKNOWN = METHODS.length
const INVALID = UNKNOWN + 1
const numbers = new Map(METHODS.map((m, i) => [m.name, i]))

/** The endpoint of a request by the name of its method; undefined where none could be read. */
export const endpointOf = (method: string | undefined): number => (method === undefined ? INVALID : (numbers.get(method) ?? UNKNOWN))

/** One request under way: gives exactly one sample, however it ends. */
export class Sample {
  private readonly meter: RequestMeter
  private readonly endpoint: number
  private readonly connection: number
  private readonly began: number
  private ended: number | undefined
  private told = false

  constructor(meter: RequestMeter, method: string | undefined, connection: Connection, began: number) {
    this.meter = meter
    this.endpoint = endpointOf(method)
    this.connection = CONNECTIONS.indexOf(connection)
    this.began = began
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
    if (this.told) return
    this.told = true
    this.meter.request(this.endpoint, this.connection, outcome, this.began, this.ended ?? this.meter.now())
  }
}
