// A littable store that a script uses without a node, optionally with its metrics page.
import type { LittableStore, LittableStoreOptions } from '../core/littable.ts'
import { openStore } from '../core/littable-native.ts'
import { metricsCatalog } from '../core/native.ts'
import { createNativeMetrics, type Scraper } from '../metrics/index.ts'
import { startMetricsServer } from '../server/index.ts'
import { VERSION } from './version.ts'

/**
 * Address of the page, for this machine only; for access from others, put a proxy in front of it.
 */
const METRICS_HOST = '127.0.0.1'

/** Port of the page, as of the setting littable.MetricsPort. */
const METRICS_PORT = 9101

/** What the names of a littable's metrics begin with. */
const METRICS_PREFIX = 'litt_'

/** How a littable is opened. */
export interface OpenLittableOptions extends LittableStoreOptions {
  /** Whether /metrics is served, on this machine's own address. Default false. */
  readonly MetricsEnabled?: boolean
  /** Its port; 0 takes a free one. Default 9101. */
  readonly MetricsPort?: number
}

/** A littable that is open. */
export interface Littable extends LittableStore {
  /** The scrape page; undefined where metrics are off. */
  readonly metricsUrl: string | undefined
}

/**
 * Opens a littable, or makes it. Rejects with `LittableError`, and with `ListenError` if the port
 * of its metrics is not available.
 */
export async function openLittable(options: OpenLittableOptions): Promise<Littable> {
  const { MetricsEnabled = false, MetricsPort = METRICS_PORT, ...rest } = options
  const store = await openStore(rest)
  if (!MetricsEnabled) return withPage(store, undefined, async () => undefined)
  let metrics: Scraper | undefined
  try {
    const made = createNativeMetrics({ catalog: metricsCatalog(), snapshot: () => store.metricsSnapshot() }, METRICS_PREFIX, VERSION)
    metrics = made
    const report = (e: unknown): void => console.error(e)
    const place = { host: METRICS_HOST, port: MetricsPort, setting: 'littable.MetricsPort' }
    const server = await startMetricsServer(place, made.scrape, report)
    return withPage(store, server.url, () => inTurn([() => server.stop(), () => made.shutdown()]))
  } catch (e) {
    // Why there is no page is what the caller gets, also where something does not close either.
    await inTurn([() => metrics?.shutdown(), () => store.close()]).catch(() => undefined)
    throw e
  }
}

/** Takes each step, also after one that fails; rejects with the first failure. */
async function inTurn(steps: readonly (() => Promise<void> | undefined)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps) {
    try {
      await step()
    } catch (e) {
      failures.push(e)
    }
  }
  if (failures.length > 0) throw failures[0]
}

function withPage(store: LittableStore, metricsUrl: string | undefined, stop: () => Promise<void>): Littable {
  return {
    metricsUrl,
    table: (options) => store.table(options),
    tableNames: () => store.tableNames(),
    dropTable: (name) => store.dropTable(name),
    flush: () => store.flush(),
    metricsSnapshot: () => store.metricsSnapshot(),
    close: () => inTurn([stop, () => store.close()]),
  }
}
