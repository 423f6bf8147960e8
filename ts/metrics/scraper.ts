// The pages made of metrics that are kept elsewhere, by way of the OpenTelemetry provider.
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { CONTENT_TYPES, Exposition, type Format, negotiateFormat } from './exposition.ts'
import type { Provider } from './provider.ts'
import type { Interval } from './series.ts'
import type { Instrument } from './table.ts'

/** A page for a client. */
export interface Page {
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** What makes pages. */
export interface Scraper {
  /** The scrape page in the format that an Accept header selects. */
  scrape(accept: string | undefined): Promise<Page>
  /** Ends the provider; no page after that. */
  shutdown(): Promise<void>
}

/** Milliseconds since the epoch as seconds and nanoseconds. */
const hrTime = (ms: number): [number, number] => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]

/**
 * Pages of instruments, which are read with the first page; `collect` returns their values at one
 * moment.
 */
export function createScraper(instruments: () => readonly Instrument[], collect: (interval: Interval) => ScopeMetrics[]): Scraper {
  const began = hrTime(Date.now())
  let provider: Promise<Provider> | undefined
  const open = async (): Promise<Provider> => {
    const { createProvider } = await import('./provider.ts')
    return createProvider(() => collect({ startTime: began, endTime: hrTime(Date.now()) }))
  }
  let pages: Record<Format, Exposition> | undefined
  const makePages = (all: readonly Instrument[]): Record<Format, Exposition> => ({
    prometheus: new Exposition('prometheus', all),
    openmetrics: new Exposition('openmetrics', all),
  })
  return {
    async scrape(accept) {
      const format = negotiateFormat(accept)
      provider ??= open()
      const resourceMetrics = await (await provider).collect()
      pages ??= makePages(instruments())
      return { contentType: CONTENT_TYPES[format], body: pages[format].page(resourceMetrics) }
    },
    async shutdown() {
      await (await provider)?.shutdown()
    },
  }
}
