// What the home page shows of the node: its health now, and samples of the last ten minutes.
// Sampling begins with the first request.

import type { Core } from '../../core/port.ts'
import { readJson } from '../../core/results.ts'

/** Samples that are kept. */
export const SAMPLES_MAX = 120

/** Time between two samples, in milliseconds. */
export const SAMPLE_EVERY_MS = 5000

/** Sampling ends when no request came for so long, in milliseconds. */
const UNASKED_MS_MAX = SAMPLES_MAX * SAMPLE_EVERY_MS

/** One look at the node; null for what it does not have. */
export interface Sample {
  /** When, in milliseconds since 1970. */
  readonly at: number
  readonly height: number | null
  /** Since the timestamp of the newest block, in milliseconds. */
  readonly headAgeMs: number | null
  /** Transactions of the pool that can go into the next block, and those that wait for others. */
  readonly pending: number | null
  readonly queued: number | null
  readonly bakeLagBlocks: number | null
  readonly bakeQueue: number | null
  /** Traces requested since the start, and those of them that the trace cache answered. */
  readonly traces: number | null
  readonly traceHits: number | null
  /** Resident memory of the process and what it may take (0: no limit), in bytes. */
  readonly memoryBytes: number
  readonly memoryBudgetBytes: number | null
  /** Processor time of the process since its start, in milliseconds. */
  readonly processorMs: number
}

/** What `/_/status` answers. */
export interface Status extends Sample {
  readonly version: string
  readonly mode: 'start' | 'dev'
  /** How long the process runs, in milliseconds. */
  readonly uptimeMs: number
  /** Whether traces are made before they are requested. */
  readonly baking: boolean
  readonly everyMs: number
  /** Oldest first. */
  readonly samples: readonly Sample[]
}

/** What the samples are taken of. */
export interface StatusSource {
  /** The core; undefined while the stores are opened. */
  readonly core: () => Core | undefined
  readonly version: string
  readonly mode: 'start' | 'dev'
  readonly baking: boolean
}

interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly value?: number
}

/**
 * A value of the core's instruments, summed over the series that `counts`; null where there is
 * none.
 */
type Read = (name: string, counts?: (labels: Series['labels']) => boolean) => number | null

function reader(snapshot: string): Read {
  const families = new Map(
    (JSON.parse(snapshot) as readonly { readonly name: string; readonly series: readonly Series[] }[]).map(({ name, series }) => [
      name,
      series,
    ]),
  )
  return (name, counts = () => true) => {
    const series = families.get(name)?.filter(({ labels }) => counts(labels))
    return series === undefined || series.length === 0 ? null : series.reduce((sum, { value = 0 }) => sum + value, 0)
  }
}

/** An answer of the core, parsed; undefined where it refuses. */
async function asked<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch {
    return undefined
  }
}

/** Takes a sample. */
export async function takeSample(core: Core | undefined, now: number): Promise<Sample> {
  const { user, system } = process.cpuUsage()
  const own = { at: now, memoryBytes: process.memoryUsage.rss(), processorMs: Math.round((user + system) / 1000) }
  const head = core && (await asked(readJson(core, 'getBlockByNumber', { block: 'latest', full: false })))
  const pool = core && (await asked(readJson(core, 'txpoolStatus', undefined)))
  let read: Read = () => null
  try {
    if (core !== undefined) read = reader(core.metricsSnapshot())
  } catch {
    // The core closes.
  }
  const hits = ({ result }: Series['labels']): boolean => result === 'hot' || result === 'stored'
  return {
    ...own,
    height: head == null ? null : Number(head.number),
    headAgeMs: head == null ? null : Math.max(0, now - Number(head.timestamp) * 1000),
    pending: pool === undefined ? null : Number(pool.pending),
    queued: pool === undefined ? null : Number(pool.queued),
    bakeLagBlocks: read('bake_lag_blocks'),
    bakeQueue: read('bake_queue_depth'),
    traces: read('trace_cache_requests_total') ?? read('trace_cache_requests'),
    traceHits: read('trace_cache_requests_total', hits) ?? read('trace_cache_requests', hits),
    memoryBudgetBytes: read('node_memory_budget_bytes'),
  }
}

/** Takes samples while the page is open. */
export class Sampler {
  private readonly source: StatusSource
  private readonly samples: Sample[] = []
  private timer: NodeJS.Timeout | undefined
  private askedAt = 0

  constructor(source: StatusSource) {
    this.source = source
  }

  private async sample(): Promise<Sample> {
    const sample = await takeSample(this.source.core(), Date.now())
    this.samples.push(sample)
    if (this.samples.length > SAMPLES_MAX) this.samples.shift()
    return sample
  }

  private tick(): void {
    if (Date.now() - this.askedAt > UNASKED_MS_MAX) this.stop()
    else void this.sample()
  }

  /** The status now. */
  async status(): Promise<Status> {
    const { version, mode, baking, core } = this.source
    this.askedAt = Date.now()
    if (this.timer === undefined) {
      // Samples from before a time without requests would be drawn as if they came right before.
      this.samples.length = 0
      this.timer = setInterval(() => this.tick(), SAMPLE_EVERY_MS).unref()
      await this.sample()
    }
    const now = await takeSample(core(), Date.now())
    const uptimeMs = Math.round(process.uptime() * 1000)
    return { ...now, version, mode, baking, uptimeMs, everyMs: SAMPLE_EVERY_MS, samples: this.samples }
  }

  stop(): void {
    clearInterval(this.timer)
    this.timer = undefined
  }
}
