// Whether requests should be sent to the node: the answer to probes of load balancers and
// orchestrators.
import { statfs } from 'node:fs/promises'
import type { Hono } from 'hono'

/** A reason for not being ready, in words; undefined where there is none. */
export type Check = () => Promise<string | undefined> | string | undefined

/** What `/ready` answers. */
export interface ReadyReport {
  readonly status: 'ready' | 'not ready'
  readonly reasons: readonly string[]
}

/** Longest time that a check may take, in milliseconds; a slower check is a reason itself. */
const CHECK_MS_MAX = 2000

/** Where the node is in its life, and what else speaks against sending it requests. */
export class Readiness {
  private phase: 'opening' | 'open' | 'draining' = 'opening'
  private readonly checks: Check[] = []

  /** The stores are open: from here on the checks decide. */
  opened(checks: readonly Check[]): void {
    this.checks.push(...checks)
    if (this.phase === 'opening') this.phase = 'open'
  }

  /** The node stops: no new requests, please. */
  drain(): void {
    this.phase = 'draining'
  }

  get draining(): boolean {
    return this.phase === 'draining'
  }

  async report(): Promise<ReadyReport> {
    const reasons =
      this.phase === 'opening'
        ? ['opening: the stores are being opened and their log replayed']
        : this.phase === 'draining'
          ? ['draining: the node is stopping']
          : (await Promise.all(this.checks.map(within))).filter((reason) => reason !== undefined)
    return { status: reasons.length === 0 ? 'ready' : 'not ready', reasons }
  }
}

/** A check within its time; one that fails is a reason. */
async function within(check: Check): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`a check took longer than ${CHECK_MS_MAX} ms`), CHECK_MS_MAX)
  })
  try {
    return await Promise.race([check(), late])
  } catch (e) {
    return `a check failed: ${e instanceof Error ? e.message : String(e)}`
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The head must not be older than `maxAgeMs` milliseconds; `headTime` gives its timestamp in
 * seconds.
 */
export const headIsYoung =
  (headTime: () => Promise<number>, maxAgeMs: number, now: () => number = Date.now): Check =>
  async () => {
    const ageMs = now() - (await headTime()) * 1000
    return ageMs > maxAgeMs ? `head is ${Math.round(ageMs / 1000)} s old, over ${maxAgeMs / 1000} s (evm.ready_max_head_age)` : undefined
  }

/**
 * The consensus client must have chosen a head within `maxMs` milliseconds; `age` is the time since
 * then.
 */
export const isDriven =
  (age: () => Promise<number | undefined>, maxMs: number): Check =>
  async () => {
    const ms = await age()
    if (ms === undefined) return 'no consensus client has chosen a head yet'
    return ms > maxMs
      ? `the last fork choice came ${Math.round(ms / 1000)} s ago, over ${maxMs / 1000} s (engine.ready_max_silence)`
      : undefined
  }

/** The disk under `directory` must have `minBytes` left. */
export const diskHasRoom =
  (directory: string, minBytes: number): Check =>
  async () => {
    const { bavail, bsize } = await statfs(directory)
    const free = bavail * bsize
    return free < minBytes ? `disk has ${free} bytes left, under ${minBytes} (state-commit.flatkv.min_free_bytes)` : undefined
  }

/** Adds `/health` (this process answers) and `/ready` (200 or 503) to an app. */
// biome-ignore lint/suspicious/noExplicitAny: an app of any bindings has the same routes.
export function addProbes(app: Hono<any>, readiness: Readiness): void {
  app.get('/health', (c) => c.json({ status: 'ok' }))
  app.get('/ready', async (c) => {
    const report = await readiness.report()
    return c.json(report, report.status === 'ready' ? 200 : 503, { 'cache-control': 'no-store' })
  })
}
