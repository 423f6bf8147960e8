// Requests to one URL, gathered into JSON-RPC batches and sent again until they are answered or
// their time is over.
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { NoAnswer, PostError, post, Refused, shownUrl } from '../peers/post.ts'
import { foreignText } from '../peers/words.ts'
import { BACKOFF_MS, BACKOFF_MS_MAX, isPassing, TOO_MANY_REQUESTS, UpstreamError } from './error.ts'

/** Codes of a connection where nothing listens, or to a host that does not exist. */
const UNREACHABLE_CODES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH'])

/** Most requests in one batch, the guard's included. */
const BATCH_REQUESTS_MAX = 100

/** Batches that are under way at the same time; more wait. */
const BATCHES_AT_ONCE = 8

/** Requests that may wait for a batch; more are refused. */
export const QUEUE_REQUESTS_MAX = 10_000

/**
 * A batch that meets the upstream's rate limit is sent again so often; then its requests go one by
 * one, since an upstream may count each of them.
 */
const RATE_LIMITED_RETRIES_MAX = 5

/** A batch that met the upstream's rate limit, which is no refusal of batches. */
class RateLimited extends Error {}

/** A request that waits for its result. */
interface Waiting {
  readonly method: string
  readonly params: readonly unknown[]
  /** When it is given up, in milliseconds of `performance.now()`. */
  readonly deadline: number
  readonly settle: (result: unknown) => void
  readonly fail: (e: Error) => void
  done: boolean
  /** Why the last attempt came to nothing. */
  last: string | undefined
}

/** One entry of an answer to a batch. */
interface Reply {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly code?: unknown; readonly message?: unknown; readonly data?: unknown }
}

/**
 * A request that is sent to the upstream with what follows a failed attempt, since another node may
 * answer then, and the check of its result, which throws.
 */
export interface Guard {
  readonly method: string
  readonly params: readonly unknown[]
  readonly check: (result: unknown) => void
}

/** Options of batches. */
export interface BatchOptions {
  readonly guard?: Guard
  /**
   * How long attempts continue where nothing can be reached, in milliseconds; without end where
   * absent.
   */
  readonly unreachableMs?: number
}

/** Sends requests to a URL. */
export class Batches {
  private readonly url: string
  private readonly guard: Guard | undefined
  private readonly unreachableMs: number
  private queue: Waiting[] = []
  private underWay = 0
  private scheduled = false
  /** Another node may answer now: the next batch includes the guard's request. */
  private suspect = false
  /** The upstream refuses batches, or takes none under its rate limit: requests go one by one. */
  private single = false
  private readonly closed = new AbortController()

  constructor(url: string, { guard, unreachableMs = Number.POSITIVE_INFINITY }: BatchOptions = {}) {
    // Each batch under way listens to it.
    setMaxListeners(0, this.closed.signal)
    this.url = url
    this.guard = guard
    this.unreachableMs = unreachableMs
  }

  /**
   * The result of a request. Rejects with `UpstreamError` where the upstream refuses it, else with
   * why there is no answer in time, or that `QUEUE_REQUESTS_MAX` requests wait already.
   */
  ask(method: string, params: readonly unknown[], timeoutMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.fail(
          new Error(
            `${method}: no answer from ${shownUrl(this.url)} in ${timeoutMs} ms${waiting.last === undefined ? '' : `: ${waiting.last}`}`,
          ),
        )
      }, timeoutMs)
      const end = (then: () => void): void => {
        if (waiting.done) return
        waiting.done = true
        clearTimeout(timer)
        then()
      }
      const waiting: Waiting = {
        method,
        params,
        deadline: performance.now() + timeoutMs,
        settle: (result) => end(() => resolve(result)),
        fail: (e) => end(() => reject(e)),
        done: false,
        last: undefined,
      }
      if (this.closed.signal.aborted) {
        waiting.fail(this.ended(waiting))
        return
      }
      if (this.queue.length >= QUEUE_REQUESTS_MAX) {
        waiting.fail(new Error(`${method}: ${QUEUE_REQUESTS_MAX} requests wait for ${shownUrl(this.url)} already`))
        return
      }
      this.queue.push(waiting)
      this.schedule()
    })
  }

  /** Ends all requests, those under way too: each rejects, and so does every later one. */
  close(): void {
    this.closed.abort()
    for (const waiting of this.queue.splice(0)) waiting.fail(this.ended(waiting))
  }

  private readonly ended = ({ method }: Waiting): Error => new Error(`${method}: requests to ${shownUrl(this.url)} have ended`)

  /** Requests of the same turn of the event loop go into one batch. */
  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    setImmediate(() => {
      this.scheduled = false
      this.flush()
    })
  }

  private flush(): void {
    this.queue = this.queue.filter((waiting) => !waiting.done)
    // An upstream may refuse a batch of one more; the guard's request may join any.
    const size = this.single ? 1 : BATCH_REQUESTS_MAX - (this.guard === undefined ? 0 : 1)
    while (this.queue.length > 0 && this.underWay < BATCHES_AT_ONCE) {
      const batch = this.queue.splice(0, size)
      this.underWay++
      void this.run(batch).finally(() => {
        this.underWay--
        this.schedule()
      })
    }
  }

  /** Tries a batch until each of its requests is settled. */
  private async run(batch: readonly Waiting[]): Promise<void> {
    let open = batch
    let limited = 0
    const begun = performance.now()
    for (let backoff = BACKOFF_MS; open.length > 0; backoff = Math.min(backoff * 2, BACKOFF_MS_MAX)) {
      try {
        await this.attempt(open)
      } catch (e) {
        const why = e instanceof Error ? e.message : String(e)
        this.suspect = true
        for (const waiting of open) waiting.last = why
        if (e instanceof RateLimited && ++limited > RATE_LIMITED_RETRIES_MAX) this.single = true
        const isLost = e instanceof NoAnswer && UNREACHABLE_CODES.has(e.code ?? '') && performance.now() - begun >= this.unreachableMs
        if (e instanceof Refused || isLost) for (const waiting of open) waiting.fail(e as Error)
        if (this.closed.signal.aborted) for (const waiting of open) waiting.fail(this.ended(waiting))
      }
      open = open.filter((waiting) => !waiting.done)
      if (this.single && open.length > 1) {
        // `flush` sends its requests one by one: at once where the upstream has refused a batch.
        if (limited > 0) await this.pause(backoff)
        this.queue.unshift(...open)
        return
      }
      if (open.length > 0) await this.pause(Math.min(backoff, Math.max(0, deadlineOf(open) - performance.now())))
      open = open.filter((waiting) => !waiting.done)
    }
  }

  /** Waits before the next attempt; not after the end of all requests. */
  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.closed.signal }).catch(() => undefined)
  }

  /**
   * Sends requests once. What has a result or an error that stays is settled; an error that passes
   * leaves its request open.
   */
  private async attempt(open: readonly Waiting[]): Promise<void> {
    const guard = this.suspect ? this.guard : undefined
    if (guard !== undefined && this.single) await this.checkAlone(guard, deadlineOf(open))
    const guarded = this.single ? undefined : guard
    const replies = await this.send(guarded === undefined ? open : [...open, guarded], deadlineOf(open))
    if (guarded !== undefined) this.check(guarded, replies.get(open.length))
    open.forEach((waiting, id) => {
      settle(waiting, replies.get(id))
    })
  }

  /** Sends requests as one message; resolves to the replies by the requests' positions. */
  private async send(requests: readonly Pick<Waiting, 'method' | 'params'>[], deadline: number): Promise<ReadonlyMap<number, Reply>> {
    const body = requests.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    const whole = body.length === 1 ? body[0] : body
    const timeoutMs = Math.max(1, deadline - performance.now())
    try {
      return this.repliesOf(await post(this.url, JSON.stringify(whole), { timeoutMs, signal: this.closed.signal }), body.length)
    } catch (e) {
      const isLimit = body.length > 1 && e instanceof PostError && e.status === TOO_MANY_REQUESTS
      throw isLimit ? new RateLimited(e.message, { cause: e }) : e
    }
  }

  private async checkAlone(guard: Guard, deadline: number): Promise<void> {
    this.check(guard, (await this.send([guard], deadline)).get(0))
  }

  /** Checks the reply to the guard's request. Throws `Refused` where the check fails. */
  private check(guard: Guard, reply: Reply | undefined): void {
    if (reply === undefined || reply.error !== undefined) throw new Error('it does not say which block it has')
    try {
      guard.check(reply.result)
    } catch (e) {
      throw new Refused((e as Error).message)
    }
    this.suspect = false
  }

  /** The replies by their number. */
  private repliesOf(answer: unknown, count: number): ReadonlyMap<number, Reply> {
    const list: readonly Reply[] = Array.isArray(answer) ? answer : [answer as Reply]
    if (count > 1 && !Array.isArray(answer)) {
      const error = (answer as Reply | null)?.error
      const why = foreignText(String(error?.message ?? 'it refuses batches'))
      if (isPassing(error?.code)) throw new RateLimited(why)
      // Any other reply to a whole batch is a refusal of batches: from now on requests go one by
      // one.
      this.single = true
      throw new Error(why)
    }
    return new Map(list.flatMap((reply) => (typeof reply?.id === 'number' ? [[reply.id, reply] as const] : [])))
  }
}

/** When the last of these requests is given up. */
const deadlineOf = (open: readonly Waiting[]): number => Math.max(...open.map(({ deadline }) => deadline))

/**
 * Passes a reply to its caller; one that is missing, or says that it will pass, leaves the
 * request open.
 */
function settle(waiting: Waiting, reply: Reply | undefined): void {
  if (reply === undefined) {
    waiting.last = 'its answer to a batch lacks an entry'
    return
  }
  if (reply.error === undefined || reply.error === null) {
    if (reply.result === undefined) waiting.last = 'an answer without a result'
    else waiting.settle(reply.result)
    return
  }
  const { code, message, data } = reply.error
  const text = typeof message === 'string' ? message : 'an error without a message'
  if (isPassing(code)) waiting.last = foreignText(text)
  else waiting.fail(new UpstreamError(waiting.method, typeof code === 'number' ? code : 0, text, data))
}
