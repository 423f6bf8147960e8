// The answer to a batch: entries in order, as one piece where it is small, else as a stream.
import { setImmediate } from 'node:timers/promises'
import { type ByteStream, type BytesBody, EMPTY, type Latin1Body, type StreamBody } from '../core/body.ts'
import { type BadCall, type Call, errorAnswer, isBad, RESULT_TAIL, resultHead } from './envelope.ts'
import { RpcError, responseTooLarge } from './errors.ts'
import type { Sample } from './meter.ts'
import { enveloped } from './reply-stream.ts'
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

/** How an entry came out: its whole result, a stream of it, or an error. */
export type Outcome = BytesBody | Latin1Body | StreamBody | RpcError

/** How the entries of a batch are run. */
export interface Runner {
  /** Never throws, never rejects. */
  run(entry: Entry): Promise<Outcome> | Outcome
  /** Whether an entry writes. A writing entry runs alone, after all earlier entries. */
  writes(entry: Entry): boolean
  /**
   * Whether an entry, even one that writes, takes effect after those before it of which the same is
   * true, so that it may be started beside them.
   */
  queues(entry: Entry): boolean
  /** Called with failures of this program itself. */
  report(e: unknown, entry: Entry): void
}

/** Entries that are answered one after the other without a pause: others want the thread too. */
const AT_ONCE_MAX = 256

/** Whether an outcome is a stream. */
const isStream = (outcome: Outcome): outcome is StreamBody => !(outcome instanceof RpcError) && outcome.kind === 'stream'

/** Whether an outcome is there already, and short. */
const isText = (outcome: Promise<Outcome> | Outcome): outcome is Latin1Body | RpcError =>
  outcome instanceof RpcError || (!(outcome instanceof Promise) && outcome.kind === 'latin1')

const ASCII = /^[\x20-\x7e]*$/

/** Text as its bytes, one a character. */
const latin1 = (text: string): string => (ASCII.test(text) ? text : Buffer.from(text).toString('latin1'))

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')

/** One batch under way. */
export class Batch {
  private readonly entries: readonly Entry[]
  private readonly limits: BatchLimits
  private readonly runner: Runner
  /** The entry that is run next. */
  private next = 0
  private readonly running: { readonly entry: Entry; readonly outcome: Promise<Outcome> | Outcome }[] = []
  /** Streams that were begun and are not written. */
  private readonly opened = new Set<ByteStream>()
  /** Bytes of results so far. */
  private size = 0
  private first = true

  constructor(entries: readonly Entry[], limits: BatchLimits, runner: Runner) {
    this.entries = entries
    this.limits = limits
    this.runner = runner
  }

  /** Cancels the work of entries that are no longer needed. */
  cancel(): void {
    for (const stream of this.opened) stream.cancel()
  }

  /** The answer in chunks; none where nothing is to be answered. */
  async *chunks(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const text = this.answerNow()
      if (text !== '') yield bytes(text)
      this.runBeside()
      const oldest = this.running.shift()
      if (oldest === undefined) {
        if (this.next === this.entries.length) break
        await setImmediate()
        continue
      }
      const outcome = await oldest.outcome
      yield* isStream(outcome) ? this.streamed(oldest.entry, outcome.stream) : this.answer(oldest.entry, outcome)
    }
    if (!this.first) yield bytes(']')
  }

  private get full(): boolean {
    return this.size > this.limits.responseBytes
  }

  private run(entry: Entry): Promise<Outcome> | Outcome {
    return this.full && !isBad(entry.call) ? responseTooLarge() : this.runner.run(entry)
  }

  /**
   * Answers to the entries that need no waiting, up to the first one that does, which runs then.
   */
  private answerNow(): string {
    let text = ''
    for (let left = AT_ONCE_MAX; left > 0 && this.running.length === 0 && this.next < this.entries.length; left--) {
      const entry = this.entries[this.next++] as Entry
      const outcome = this.run(entry)
      if (isText(outcome)) text += this.written(entry, outcome) ?? ''
      else this.running.push({ entry, outcome })
    }
    return text
  }

  /** Runs entries beside those that run, as many as may. */
  private runBeside(): void {
    while (this.next < this.entries.length && this.running.length > 0 && this.running.length < this.limits.concurrency) {
      const [before, entry] = [this.entries[this.next - 1] as Entry, this.entries[this.next] as Entry]
      const queued = this.runner.queues(entry) && this.runner.queues(before)
      if (!queued && (this.runner.writes(entry) || this.runner.writes(before))) return
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

  /**
   * The answer to an entry with a short result or an error, one byte a character; undefined where
   * it gets none.
   */
  private written({ call, sample }: Entry, outcome: Latin1Body | RpcError): string | undefined {
    const { id } = call
    const failed = outcome instanceof RpcError
    if (id === undefined) {
      if (failed) sample.fail(outcome)
      else sample.succeed()
      return undefined
    }
    if (failed || this.full) {
      const error = failed && (isBad(call) || !this.full) ? outcome : responseTooLarge()
      sample.fail(error)
      return this.separator() + latin1(errorAnswer(id, error))
    }
    const { text } = outcome
    this.size += text.length
    sample.made(text.length)
    sample.succeed()
    return this.separator() + resultHead(latin1(id)) + text + RESULT_TAIL
  }

  private *answer(entry: Entry, outcome: BytesBody | Latin1Body | RpcError): Generator<Uint8Array, void> {
    const { id } = entry.call
    if (isText(outcome) || id === undefined || this.full) {
      const text = this.written(entry, isText(outcome) ? outcome : EMPTY)
      if (text !== undefined) yield bytes(text)
      return
    }
    const result = outcome.bytes
    this.size += result.length
    entry.sample.made(result.length)
    entry.sample.succeed()
    yield bytes(this.separator() + resultHead(latin1(id)))
    yield result
    yield bytes(RESULT_TAIL)
  }

  /**
   * A stream takes no memory, however long it is: it is never cut off, but the requests after it
   * may be refused.
   */
  private async *streamed(entry: Entry, stream: ByteStream): AsyncGenerator<Uint8Array, void> {
    const { call, sample } = entry
    if (call.id === undefined || this.full) {
      stream.cancel()
      const text = this.written(entry, EMPTY)
      if (text !== undefined) yield bytes(text)
      return
    }
    yield bytes(this.separator())
    this.opened.add(stream)
    for await (const chunk of enveloped(call.id, stream, sample, (e) => this.runner.report(e, entry))) {
      this.size += chunk.length
      yield chunk
    }
    this.opened.delete(stream)
  }
}
