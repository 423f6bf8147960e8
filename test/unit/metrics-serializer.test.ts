// The scrape page beside the serializer of OpenTelemetry's Prometheus exporter: the same samples,
// types and help for every instrument whose name and type that serializer can write.
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { afterEach, expect, it, vi } from 'vitest'
import { Exposition } from '../../ts/metrics/exposition.ts'
import { createMetrics } from '../../ts/metrics/index.ts'
import { INSTRUMENTS, type Instrument } from '../../ts/rpc/instruments.ts'
import { endpointOf } from '../../ts/rpc/meter.ts'
import { OUTCOMES } from '../../ts/rpc/outcome.ts'
import { fakeNative } from './fake-core.ts'

afterEach(() => vi.restoreAllMocks())

/** A page of requests that ended in every way, and what the serializer makes of the same values. */
async function bothPages(legacy: boolean): Promise<{ readonly own: string; readonly theirs: string }> {
  const native = fakeNative()
  native.rows['a"b\\c\nd'] = 7
  native.latency[1] = { counts: [2, 1], sum: 0.75 }
  const source = { catalog: native.catalog, snapshot: () => native.snapshot() }
  const options = { legacy, mode: 'start', version: '1.2.3', otlp: false, report: () => undefined } as const
  const metrics = createMetrics(source, options)
  for (const outcome of OUTCOMES.keys()) metrics.request(endpointOf('eth_call'), outcome % 2, outcome, 0, outcome * 3)
  metrics.count('cosmosQueries', 'rest', 'a query', '0')
  metrics.watch(async () => ({ enginePeers: 3, followLag: 1.5 }))
  const page = vi.spyOn(Exposition.prototype, 'page')
  const own = new TextDecoder().decode((await metrics.scrape('text/plain')).body)
  const values = page.mock.calls[0]?.[0] as ResourceMetrics
  await metrics.shutdown()
  return { own, theirs: new PrometheusSerializer('', false, undefined, true, true).serialize(values) }
}

/**
 * Lines of samples, types and help, in no order: a histogram of the serializer begins with its
 * count.
 */
const lines = (page: string): string[] => page.split('\n').filter((line) => line !== '' && !line.startsWith('# UNIT'))

/** The names of samples of a line, without labels. */
const nameOf = (line: string): string => /^(?:# (?:HELP|TYPE) )?([a-zA-Z0-9_]+)/.exec(line)?.[1] ?? ''

it('is that of the exporter, without deprecated metrics', async () => {
  const { own, theirs } = await bothPages(false)
  expect(lines(own).length).toBeGreaterThan(500)
  expect(lines(own).toSorted()).toEqual(lines(theirs).toSorted())
})

it('differs for three deprecated names, which have to stay', async () => {
  const { own, theirs } = await bothPages(true)
  const [ours, others] = [new Set(lines(own)), new Set(lines(theirs))]
  const differing = [...[...ours].filter((line) => !others.has(line)), ...[...others].filter((line) => !ours.has(line))]
  const names = new Set(differing.map((line) => nameOf(line).replace(/_(?:total|bucket|sum|count)$/, '')))
  const kept = Object.values<Instrument>(INSTRUMENTS).filter(({ kind, bare }) => kind === 'summary' || bare === true)
  expect([...names].sort()).toEqual(kept.map(({ name }) => name).sort())
  expect(kept.every(({ legacy }) => legacy === true)).toBe(true)
})
