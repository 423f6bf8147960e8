// The pages made of a provider's metrics.
import type { MetricData, ResourceMetrics, ScopeMetrics } from '@opentelemetry/sdk-metrics'
import type { Instrument } from '../rpc/instruments.ts'
import { CONTENT_TYPES, Exposition, type Format, negotiateFormat } from './exposition.ts'
import type { Observed, Provider, ProviderOptions } from './provider.ts'
import { type Interval, numbers } from './series.ts'

/** A page for a client. */
export interface Page {
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** What makes pages. */
export interface Scraper {
  /** The scrape page in the format that an Accept header selects. */
  scrape(accept: string | undefined): Promise<Page>
  /**
   * Makes the provider, registers it as the global one of this process, and begins to push where
   * that is wanted. The first page does so too: loading the SDK takes longer than the rest of a
   * start.
   */
  open(): Promise<void>
  /** Ends the provider; no page after that. */
  shutdown(): Promise<void>
}

/** The instruments of a page and their values. */
export interface Measured {
  /** Every instrument, in the order of the page; read with the first page. */
  readonly instruments: () => readonly Instrument[]
  /** Name of the meter of the observed instruments. */
  readonly scope: string
  readonly observed: readonly Observed[]
  /** The values of all other instruments at one moment. */
  readonly collect: (interval: Interval) => Promise<ScopeMetrics[]>
}

/** Milliseconds since the epoch as seconds and nanoseconds. */
const hrTime = (ms: number): [number, number] => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]

/** Makes pages of instruments. */
export function createScraper({ instruments, scope, observed, collect }: Measured, options: ProviderOptions): Scraper {
  const began = hrTime(Date.now())
  let provider: Promise<Provider> | undefined
  const opened = (): Promise<Provider> => {
    provider ??= import('./provider.ts').then(({ createProvider }) =>
      createProvider({ scope, observed, produce: () => collect({ startTime: began, endTime: hrTime(Date.now()) }) }, options),
    )
    return provider
  }
  let pages: Pages | undefined
  return {
    async scrape(accept) {
      const resourceMetrics = await (await opened()).collect()
      pages ??= makePages(instruments())
      const { own, others } = separate(resourceMetrics, pages.instruments, scope)
      if (others.length === 0) {
        const format = negotiateFormat(accept)
        return { contentType: CONTENT_TYPES[format], body: pages[format].page(own) }
      }
      const { withOtherMeters } = await import('./other-meters.ts')
      return { contentType: CONTENT_TYPES.prometheus, body: withOtherMeters(pages.prometheus.page(own), resourceMetrics, others) }
    },
    async open() {
      await opened()
    },
    async shutdown() {
      await (await provider)?.shutdown()
    },
  }
}

/** The pages of both formats, and what is on them by name. */
type Pages = Readonly<Record<Format, Exposition>> & { readonly instruments: ReadonlyMap<string, Instrument> }

const makePages = (all: readonly Instrument[]): Pages => ({
  prometheus: new Exposition('prometheus', all),
  openmetrics: new Exposition('openmetrics', all),
  instruments: new Map(all.map((instrument) => [instrument.name, instrument])),
})

/** Name of the meter of the core's instruments. */
export const CORE_SCOPE = 'core'

const NEVER: Interval = { startTime: [0, 0], endTime: [0, 0] }

/**
 * The metrics of the tables, in their order, and those of other meters of this process. The SDK has
 * no metric for an instrument without a series; the page has its type and help.
 */
function separate(
  all: ResourceMetrics,
  instruments: ReadonlyMap<string, Instrument>,
  scope: string,
): { readonly own: ResourceMetrics; readonly others: ScopeMetrics[] } {
  const found = new Map<string, MetricData>()
  const others: ScopeMetrics[] = []
  for (const { scope: of, metrics } of all.scopeMetrics) {
    const isOwn = of.name === scope || of.name === CORE_SCOPE
    const rest: MetricData[] = []
    for (const metric of metrics) {
      if (!instruments.has(metric.descriptor.name)) rest.push(metric)
      // Of an instrument that something else made under a name of the table, nothing is shown: the
      // producers' metrics come last.
      else if (isOwn) found.set(metric.descriptor.name, metric)
    }
    if (rest.length > 0) others.push({ scope: of, metrics: rest })
  }
  const metrics = Array.from(instruments.values(), (instrument) => found.get(instrument.name) ?? numbers(instrument, NEVER, []))
  return { own: { ...all, scopeMetrics: [{ scope: { name: scope }, metrics }] }, others }
}
