// What a piece of work moves on the metrics page of a node.
import { moved, parseScrape, type Scrape } from '../unit/scrape.ts'
import type { RunningNode } from './harness.ts'
import { sleep, until } from './waiting.ts'

/** The node's page now. */
export async function scrapeOf(node: RunningNode): Promise<Scrape> {
  return parseScrape(await (await fetch(node.metrics as string)).text(), 'prometheus')
}

/**
 * Series whose names have the prefix and that the work changes, each with its change; for latencies
 * the number of samples.
 */
export async function movedOn(node: RunningNode, prefix: string, work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await scrapeOf(node)
  await work()
  const changes = Object.entries(moved(before, await scrapeOf(node)))
  return Object.fromEntries(changes.filter(([sample]) => sample.startsWith(prefix) && !/_sum\b|_bucket\{/.test(sample)))
}

/** Time in which nothing moves on the page of an idle node, in milliseconds. */
const STILL_MS = 500

/**
 * Waits until series whose names have the prefix have stopped to move: what an opening or a request
 * has begun in the background ends late on a busy machine.
 */
export const atRest = (node: RunningNode, prefix: string): Promise<void> =>
  until(`the end of movements of ${prefix}`, async () => Object.keys(await movedOn(node, prefix, () => sleep(STILL_MS))).length === 0)
