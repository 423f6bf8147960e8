// What a piece of work moves on the metrics page of a node.
import { moved, parseScrape, type Scrape } from '../unit/scrape.ts'
import type { RunningNode } from './harness.ts'

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
