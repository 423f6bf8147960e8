// A client of one other node: reads that are repeated while that may help, and single requests.
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { NoAnswer, postForBytes, Refused, shownUrl } from '../peers/post.ts'
import { foreignText } from '../peers/words.ts'
import type { Guard } from './batches.ts'
import { resultBytes, uncheckedResult } from './envelope.ts'
import { BACKOFF_MS, BACKOFF_MS_MAX, isPassing, UpstreamError } from './error.ts'

/** A JSON-RPC request: method and parameters. */
export type Call = readonly [method: string, params: readonly unknown[]]

/** A request that found as many under way as may be. */
export class UpstreamBusy extends Error {
  override name = 'UpstreamBusy'
}

/** Options of a client. */
export interface ClientOptions {
  readonly url: string
  /** Longest time of a read with all its attempts, in milliseconds. */
  readonly timeoutMs: number
  /** Reads that may be under way at the same time; more are refused. */
  readonly atOnce: number
  /** Largest answer to a read, in bytes. */
  readonly answerBytesMax: number
  readonly guard?: Guard
}

/** Bounds of a single request. */
export interface OnceOptions {
  readonly timeoutMs: number
  readonly answerBytesMax: number
}

/** A client of one node. */
export class UpstreamClient {
  /** The address without its secret parts. */
  readonly shown: string
  private readonly options: ClientOptions
  private readonly closed = new AbortController()
  private underWay = 0
  private lastId = 0
  /** An attempt failed: another node may answer the next one. */
  private isSuspect = false

  constructor(options: ClientOptions) {
    this.options = options
    // Each request under way listens to it.
    setMaxListeners(0, this.closed.signal)
    this.shown = shownUrl(options.url)
  }

  /** The value of a read of this node itself, which no number of other reads delays. */
  async call<T = unknown>(method: string, params: readonly unknown[], timeoutMs = this.options.timeoutMs): Promise<T> {
    return JSON.parse((await this.attempts(method, params, timeoutMs)).toString('utf8')) as T
  }

  /**
   * The bytes of the result of a read for a client. It is sent again, with growing waits, after
   * errors that pass (HTTP 429, -32005 and the like) and after lost connections, until its time is
   * over. Rejects with `UpstreamError` for an error of the upstream, with `UpstreamBusy` where as
   * many such reads are under way as may be, else with why there is no answer.
   */
  async read(method: string, params: readonly unknown[], timeoutMs = this.options.timeoutMs): Promise<Buffer> {
    const { atOnce } = this.options
    if (this.underWay >= atOnce) throw new UpstreamBusy(`${method}: ${atOnce} requests to ${this.shown} are under way already`)
    this.underWay++
    try {
      return await this.attempts(method, params, timeoutMs)
    } finally {
      this.underWay--
    }
  }

  private async attempts(method: string, params: readonly unknown[], timeoutMs: number): Promise<Buffer> {
    const { answerBytesMax } = this.options
    const deadline = performance.now() + timeoutMs
    for (let backoff = BACKOFF_MS; ; backoff = Math.min(backoff * 2, BACKOFF_MS_MAX)) {
      const leftMs = Math.max(1, deadline - performance.now())
      try {
        await this.check({ timeoutMs: leftMs, answerBytesMax })
        return resultBytes(method, await this.post([[method, params]], { timeoutMs: leftMs, answerBytesMax }))
      } catch (e) {
        this.isSuspect ||= !(e instanceof UpstreamError)
        if (!mayPass(e) || performance.now() + backoff >= deadline || this.closed.signal.aborted) throw this.explained(method, e)
      }
      await sleep(backoff)
    }
  }

  /**
   * Sends requests once, several of them as a batch; resolves to the bytes of the whole answer,
   * which may be an error. No attempt follows.
   */
  post(calls: readonly Call[], { timeoutMs, answerBytesMax }: OnceOptions): Promise<Buffer> {
    const requests = calls.map(([method, params]) => ({ jsonrpc: '2.0', id: ++this.lastId, method, params }))
    const body = JSON.stringify(requests.length === 1 ? requests[0] : requests)
    return postForBytes(this.options.url, body, { timeoutMs, answerBytesMax, signal: this.closed.signal })
  }

  /** The value of one attempt. */
  async once<T = unknown>(method: string, params: readonly unknown[], bounds: OnceOptions): Promise<T> {
    return JSON.parse(resultBytes(method, await this.post([[method, params]], bounds)).toString('utf8')) as T
  }

  /** The bytes of the result of one attempt, of whose envelope alone is known that it is JSON. */
  async onceUnchecked(method: string, params: readonly unknown[], bounds: OnceOptions): Promise<Buffer> {
    return uncheckedResult(method, await this.post([[method, params]], bounds))
  }

  /** Checks after a failure that the upstream is the same. Throws `Refused` where it is not. */
  private async check(bounds: OnceOptions): Promise<void> {
    const { guard } = this.options
    if (!this.isSuspect || guard === undefined) return
    const { method, params } = guard
    const result: unknown = JSON.parse(resultBytes(method, await this.post([[method, params]], bounds)).toString('utf8'))
    try {
      guard.check(result)
    } catch (e) {
      throw new Refused((e as Error).message)
    }
    this.isSuspect = false
  }

  /** Ends the requests under way. */
  close(): void {
    this.closed.abort()
  }

  /** An error whose message names method and upstream. */
  private explained(method: string, e: unknown): Error {
    if (e instanceof UpstreamError) return e
    const why = e instanceof NoAnswer && e.timedOut ? 'no answer in time' : foreignText((e as Error).message)
    return new Error(`${method}: ${this.shown}: ${why}`, { cause: e })
  }
}

/** Whether another attempt of a read may succeed. */
function mayPass(e: unknown): boolean {
  if (e instanceof UpstreamError) return isPassing(e.code)
  return !(e instanceof Refused)
}
