// The answer to a batch: entries in order, as one piece where it is small, else as a stream.
import { setImmediate } from 'node:timers/promises'
import { CoreError } from '../core/error.ts'
import type { ResultStream } from '../core/port.ts'
import { type BadCall, type Call, errorAnswer, lateError, RESULT_TAIL, resultHead } from './envelope.ts'
import { RpcError, responseTooLarge, toRpcError } from './errors.ts'
import type { Sample } from './meter.ts'
import type { RequestLimits } from './scan.ts'

/** Limits of batches. */
export interface BatchLimits extends RequestLimits {
  /** Bytes of results in the answer to one batch after which the remaining requests are refused. */
  readonly responseBytes: number
  /** Requests of one batch that run at the same time. */
  readonly concurrency: number
}

/** An entry of a batch and its measurement. */
export interface Entry {
  readonly call: Call | BadCall
  readonly sample: Sample
}

/** A result of more than one chunk. The first ones are taken before anything is sent, so a request that fails at once is an ordinary error. */
export interface Opened {
  readonly ready: readonly Uint8Array[]
  readonly stream: ResultStream
}

/** How an entry came out: its whole result, the start of a stream, or an error. */
export type Outcome = Uint8Array | string | Opened | RpcError

/** How the entries of a batch are run. */
export interface Runner {
  /** Never throws, never rejects. */
  run(entry: Entry): Promise<Outcome> | Outcome
  /** Whether an entry writes: it runs alone, after all before it. */
  writes(call: Call | BadCall): boolean
  /** Told of this program's own failures. */
  report(e: unknown, entry: Entry): void
}

/** Entries that are answered one after the other without a pause: others want the thread too. */
const AT_ONCE_MAX = 256

const encoder = new TextEncoder()

/** Whether an entry is no request. */
export const isBad = (call: Call | BadCall): call is BadCall => 'error' in call

export const isOpened = (outcome: Outcome): outcome is Opened => typeof outcome === 'object' && 'stream' in outcome

/** Kinds of failures after which what came of a result is a whole value, only cut short. */
const WHOLE_KINDS: ReadonlySet<string> = new Set(['trace', 'execution'])

/**
 * Envelope and result in chunks. A failure in the middle of a result that is a value all the same becomes a member `error` behind it;
 * after any other failure nothing can be made whole, and it is thrown.
 */
export async function* spliced(id: string, opened: Opened, sample: Sample, report: (e: unknown) => void): AsyncGenerator<Uint8Array, void> {
  yield encoder.encode(resultHead(id))
  for (const chunk of opened.ready) {
    sample.made(chunk.length)
    yield chunk
  }
  let tail = RESULT_TAIL
  try {
    for (let chunk = await opened.stream.next(); chunk !== null; chunk = await opened.stream.next()) {
      sample.made(chunk.length)
      yield chunk
    }
    sample.succeed()
  } catch (e) {
    if (!(e instanceof CoreError && WHOLE_KINDS.has(e.kind))) throw e
    const error = toRpcError(e, report)
    sample.fail(error)
    tail = lateError(error)
  }
  yield encoder.encode(tail)
}

/** One batch under way. */
export class Batch {
  private readonly entries: readonly Entry[]
  private readonly limits: BatchLimits
  private readonly runner: Runner
  /** The entry that is run next. */
  private next = 0
  private readonly running: { readonly entry: Entry; readonly outcome: Promise<Outcome> | Outcome }[] = []
  /** Streams that were begun and are not written. */
  private readonly opened = new Set<ResultStream>()
  /** Bytes of results so far. */
  private size = 0
  private first = true

  constructor(entries: readonly Entry[], limits: BatchLimits, runner: Runner) {
    this.entries = entries
    this.limits = limits
    this.runner = runner
  }

  /** Ends the work of entries that nobody waits for any more. */
  cancel(): void {
    for (const stream of this.opened) stream.cancel()
  }

  /** The answer in chunks; none where nothing is to be answered. */
  async *chunks(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const text = this.atOnce()
      if (text !== '') yield encoder.encode(text)
      this.runBeside()
      const oldest = this.running.shift()
      if (oldest === undefined) {
        if (this.next === this.entries.length) break
        await setImmediate()
        continue
      }
      const outcome = await oldest.outcome
      yield* isOpened(outcome) ? this.streamed(oldest.entry, outcome) : this.answer(oldest.entry, outcome)
    }
    if (!this.first) yield encoder.encode(']')
  }

  private get full(): boolean {
    return this.size > this.limits.responseBytes
  }

  private run(entry: Entry): Promise<Outcome> | Outcome {
    return this.full && !isBad(entry.call) ? responseTooLarge() : this.runner.run(entry)
  }

  /** Answers to the entries that need no waiting, up to the first one that does, which runs then. */
  private atOnce(): string {
    let text = ''
    for (let left = AT_ONCE_MAX; left > 0 && this.running.length === 0 && this.next < this.entries.length; left--) {
      const entry = this.entries[this.next++] as Entry
      const outcome = this.run(entry)
      if (outcome instanceof Promise || outcome instanceof Uint8Array || isOpened(outcome)) this.running.push({ entry, outcome })
      else text += this.written(entry, outcome) ?? ''
    }
    return text
  }

  /** Runs entries beside those that run, as many as may. */
  private runBeside(): void {
    while (this.next < this.entries.length && this.running.length > 0 && this.running.length < this.limits.concurrency) {
      const [before, entry] = [this.entries[this.next - 1] as Entry, this.entries[this.next] as Entry]
      if (this.runner.writes(entry.call) || this.runner.writes(before.call)) return
      this.next++
      this.running.push({ entry, outcome: this.run(entry) })
    }
  }

  /** What separates an answer from the one before it. */
  private separator(): string {
    const separator = this.first ? '[' : ','
    this.first = false
    return separator
  }

  /** The answer to an entry with a short result or an error; undefined where it gets none. */
  private written({ call, sample }: Entry, outcome: string | RpcError): string | undefined {
    const { id } = call
    if (id === undefined) {
      if (outcome instanceof RpcError) sample.fail(outcome)
      else sample.succeed()
      return undefined
    }
    const failed = outcome instanceof RpcError
    if (failed || this.full) {
      const error = failed && (isBad(call) || !this.full) ? outcome : responseTooLarge()
      sample.fail(error)
      return this.separator() + errorAnswer(id, error)
    }
    this.size += outcome.length
    sample.made(outcome.length)
    sample.succeed()
    return this.separator() + resultHead(id) + outcome + RESULT_TAIL
  }

  private *answer(entry: Entry, outcome: Uint8Array | string | RpcError): Generator<Uint8Array, void> {
    const { id } = entry.call
    if (!(outcome instanceof Uint8Array) || id === undefined || this.full) {
      const text = this.written(entry, outcome instanceof Uint8Array ? '' : outcome)
      if (text !== undefined) yield encoder.encode(text)
      return
    }
    this.size += outcome.length
    entry.sample.made(outcome.length)
    entry.sample.succeed()
    yield encoder.encode(this.separator() + resultHead(id))
    yield outcome
    yield encoder.encode(RESULT_TAIL)
  }

  /** A stream costs no memory, however long it is: it is never cut off, but the requests after it may be. */
  private async *streamed(entry: Entry, opened: Opened): AsyncGenerator<Uint8Array, void> {
    const { call, sample } = entry
    if (call.id === undefined || this.full) {
      opened.stream.cancel()
      const text = this.written(entry, '')
      if (text !== undefined) yield encoder.encode(text)
      return
    }
    yield encoder.encode(this.separator())
    this.opened.add(opened.stream)
    for await (const chunk of spliced(call.id, opened, sample, (e) => this.runner.report(e, entry))) {
      this.size += chunk.length
      yield chunk
    }
    this.opened.delete(opened.stream)
  }
}
