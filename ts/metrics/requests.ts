// Requests by endpoint, connection and outcome. Recording is a few additions in typed arrays: no
// object, no look-up of labels.

import { INSTRUMENTS } from '../rpc/instruments.ts'
import { CONNECTIONS, ENDPOINTS } from '../rpc/meter.ts'
import { OUTCOMES } from '../rpc/outcome.ts'
import type { Distribution, Labels, Point } from './series.ts'
import { Window } from './window.ts'

const BOUNDS = Float64Array.from(INSTRUMENTS.requests.buckets)
const BUCKETS = BOUNDS.length + 1
const QUANTILES = INSTRUMENTS.legacyLatency.quantiles

/** One object for as long as the series lives: the page keeps its text by it. */
const NO_LABELS: Labels = {}

/**
 * Initial capacity in series; it doubles when it is used up. The number of series is bounded by the
 * three tables.
 */
const FIRST_ROOM = 64

/**
 * All series of one endpoint, connection and outcome; positions are those of `ENDPOINTS`,
 * `CONNECTIONS` and `OUTCOMES`.
 */
interface Series {
  /** Position of endpoint and connection together. */
  readonly caller: number
  readonly outcome: number
  readonly labels: Labels
}

/** Labels of the deprecated series of an endpoint and a connection. */
interface Caller {
  readonly labels: Labels
  readonly success: readonly [no: Labels, yes: Labels]
}

/** The request instruments. */
export class Requests {
  private readonly endpoints: readonly string[]
  /** Series by caller and outcome, one up; zero where there is none yet. */
  private readonly numbers: Uint32Array
  private readonly series: Series[] = []
  private counts = new Float64Array(FIRST_ROOM * BUCKETS)
  /** Milliseconds by series. */
  private sums = new Float64Array(FIRST_ROOM)
  private readonly callers = new Map<number, Caller>()
  private readonly window: Window | undefined

  /** Measures the deprecated summary too where `legacy` says so; `now` is in milliseconds. */
  constructor(legacy: boolean, now: number, endpoints: readonly string[] = ENDPOINTS) {
    this.endpoints = endpoints
    this.numbers = new Uint32Array(endpoints.length * CONNECTIONS.length * OUTCOMES.length)
    this.window = legacy ? new Window(now) : undefined
  }

  /** Records a request; times are milliseconds of one clock. */
  record(endpoint: number, connection: number, outcome: number, began: number, ended: number): void {
    const caller = endpoint * CONNECTIONS.length + connection
    const key = caller * OUTCOMES.length + outcome
    const number = (this.numbers[key] || this.add(key, caller, outcome)) - 1
    const ms = ended > began ? ended - began : 0
    const seconds = ms / 1000
    let bucket = 0
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++
    const at = number * BUCKETS + bucket
    this.counts[at] = (this.counts[at] as number) + 1
    this.sums[number] = (this.sums[number] as number) + ms
    this.window?.record(caller, ms, ended)
  }

  private add(key: number, caller: number, outcome: number): number {
    const endpoint = this.endpoints[Math.floor(caller / CONNECTIONS.length)]
    const connection = CONNECTIONS[caller % CONNECTIONS.length]
    const labelled = OUTCOMES[outcome]
    if (endpoint === undefined || connection === undefined || labelled === undefined) throw new RangeError(`no request series ${key}`)
    const { success, errorClass, codeClass } = labelled
    if (!this.callers.has(caller)) {
      const labels = { endpoint, connection }
      this.callers.set(caller, {
        labels,
        success: [
          { ...labels, success: 'false' },
          { ...labels, success: 'true' },
        ],
      })
    }
    this.series.push({
      caller,
      outcome,
      labels: { endpoint, connection, success: String(success), error_class: errorClass, jsonrpc_code: codeClass },
    })
    const number = this.series.length
    if (number > this.sums.length) {
      this.sums = grown(this.sums)
      this.counts = grown(this.counts)
    }
    this.numbers[key] = number
    return number
  }

  private countOf(number: number): number {
    let count = 0
    for (let i = number * BUCKETS; i < (number + 1) * BUCKETS; i++) count += this.counts[i] as number
    return count
  }

  /** `evmrpc_request_latency_seconds`. */
  latencies(): Point<Distribution>[] {
    // One copy for all: what is recorded while the page is made must not tear it.
    const all = this.counts.slice(0, this.series.length * BUCKETS)
    const boundaries = INSTRUMENTS.requests.buckets as unknown as number[]
    return this.series.map(({ labels }, number) => ({
      labels,
      value: {
        // Readers take it by index alone; an array of boxed numbers costs ten times as much.
        buckets: { boundaries, counts: all.subarray(number * BUCKETS, (number + 1) * BUCKETS) as unknown as number[] },
        sum: (this.sums[number] as number) / 1000,
        count: this.countOf(number),
      },
    }))
  }

  /** `evmrpc_panics_total`: requests of all endpoints whose outcome is a panic. */
  panics(): Point<number>[] {
    let count = 0
    this.series.forEach(({ outcome }, number) => {
      if (OUTCOMES[outcome]?.errorClass === 'panic') count += this.countOf(number)
    })
    return [{ labels: NO_LABELS, value: count }]
  }

  /** `chain_rpc_request_counter`. */
  legacyCounts(): Point<number>[] {
    const totals = new Map<Labels, number>()
    this.series.forEach(({ caller, outcome }, number) => {
      const labels = (this.callers.get(caller) as Caller).success[OUTCOMES[outcome]?.success ? 1 : 0]
      totals.set(labels, (totals.get(labels) ?? 0) + this.countOf(number))
    })
    return Array.from(totals, ([labels, value]) => ({ labels, value }))
  }

  /** `chain_rpc_request_latency_ms`. */
  legacyLatencies(now: number): Point<Distribution>[] {
    const totals = new Map<number, { sum: number; count: number }>()
    this.series.forEach(({ caller }, number) => {
      const total = totals.get(caller) ?? { sum: 0, count: 0 }
      totals.set(caller, { sum: total.sum + (this.sums[number] as number), count: total.count + this.countOf(number) })
    })
    return Array.from(totals, ([caller, { sum, count }]) => ({
      labels: (this.callers.get(caller) as Caller).labels,
      value: {
        buckets: { boundaries: [], counts: [count] },
        sum,
        count,
        quantiles: this.window?.quantiles(caller, QUANTILES, now) ?? [],
      },
    }))
  }
}

function grown(old: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(old.length * 2)
  larger.set(old)
  return larger
}
