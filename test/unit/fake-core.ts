// A fake core for tests: it records its calls and answers as configured.

import { bodyText } from '../../ts/core/chunks.ts'
import { CoreError } from '../../ts/core/error.ts'
import type { Core, ResultStream } from '../../ts/core/port.ts'
import type { Reply } from '../../ts/rpc/reply.ts'

/** Rules for tests of other subjects: nothing is denied, every tracer is allowed. */
export const PLAIN_RULES = {
  denied: [],
  submission: 'pool',
  trace: {
    timeoutMs: 5000,
    allowed: 'all',
    withoutTracer: 'structLogger',
    scripts: true,
    strictOptions: false,
    filterMaxBlocks: 1000,
    filterMaxResults: 100_000,
    scriptNames: [],
  },
  overrides: { accounts: 100, slots: 1000 },
  following: { filterIdleMs: 60_000, heads: 100, logs: 100 },
} as const

type Answer = string | Error | ((args: unknown) => Promise<string>)

/** Chunks to stream; an error among them fails the stream at that place. */
export interface FakeStream extends ResultStream {
  cancelled: boolean
  taken: number
}

export function fakeStream(chunks: readonly (string | Error)[]): FakeStream {
  const queue = [...chunks]
  return {
    cancelled: false,
    taken: 0,
    async next() {
      const chunk = queue.shift()
      if (chunk instanceof Error) throw chunk
      if (chunk !== undefined) this.taken++
      return chunk === undefined ? null : Buffer.from(chunk)
    },
    cancel() {
      this.cancelled = true
    },
  }
}

export function fakeCore(
  replies: Record<string, Answer>,
  stream: () => ResultStream = () => fakeStream([]),
  native: FakeNative = fakeNative(),
): Core & { asked: [string, unknown][] } {
  const asked: [string, unknown][] = []
  return {
    asked,
    dev: false,
    // Nothing ever happens.
    events: (_, wait) => (wait ? new Promise(() => undefined) : Promise.resolve(Buffer.from('{"next":0,"missed":0,"events":[]}'))),
    async request(op, args) {
      asked.push([op, args])
      const reply = replies[op]
      if (reply === undefined) throw new CoreError('internal', `no reply for ${op}`)
      if (reply instanceof Error) throw reply
      return Buffer.from(typeof reply === 'string' ? reply : await reply(args))
    },
    stream(op, args) {
      asked.push([op, args])
      return stream()
    },
    metricsSnapshot: () => native.snapshot(),
    takeLog: () => [],
    close: async () => undefined,
  }
}

/** The whole reply as text; a reply in gzip fails unless the test requested it. */
export const drain = async ({ body }: Reply): Promise<string> => await bodyText(body)

/** Native metrics for tests: one instrument of each kind, whose values a test may change. */
export interface FakeNative {
  readonly catalog: string
  readonly snapshot: () => string
  /** Values of `core_rows` by table; a table that is added is a series that appears. */
  readonly rows: Record<string, number>
  height: number
  /** Samples of `core_latency` up to 0.5 s and above, for success false and true. */
  readonly latency: { readonly counts: [number, number]; sum: number }[]
}

export function fakeNative(): FakeNative {
  const success = { key: 'success', values: ['false', 'true'] }
  return {
    catalog: JSON.stringify([
      { name: 'core_latency', kind: 'histogram', unit: 's', help: 'Work', labels: [success], buckets: [0.5] },
      { name: 'core_rows', kind: 'counter', unit: '{count}', help: 'Rows', labels: [{ key: 'table' }] },
      { name: 'core_height', kind: 'gauge', unit: '{count}', help: 'Height', labels: [] },
    ]),
    rows: {},
    height: 0,
    latency: success.values.map(() => ({ counts: [0, 0], sum: 0 })),
    snapshot() {
      const latency = this.latency.map(({ counts, sum }, i) => {
        return { labels: { success: success.values[i] }, counts, sum, count: counts[0] + counts[1] }
      })
      const rows = Object.entries(this.rows).map(([table, value]) => ({ labels: { table }, value }))
      return JSON.stringify([
        { name: 'core_latency', series: latency },
        { name: 'core_rows', series: rows },
        { name: 'core_height', series: [{ labels: {}, value: this.height }] },
      ])
    },
  }
}
