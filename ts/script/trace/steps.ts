// Struct logs one after the other, as they come from the core: however many there are, a few chunks
// are in memory.
import type { ResultStream } from '../../core/port.ts'
import { type AbortOptions, checkSignal } from '../abort-options.ts'
import { hearthError, TraceError } from '../errors.ts'
import type { StructLog, StructLogSummary } from './results.ts'

/**
 * What stands before the first step, between two, and behind the last one. Quotes within texts are
 * escaped, so none of them holds these.
 */
const HEAD = '{"structLogs":['
const SEPARATOR = ',{"pc":'
const END = '],"gas":'

/** The text of steps that came so far, cut at the borders of steps. */
class Cutter {
  private rest = ''
  private begun = false
  private readonly decoder = new TextDecoder()

  /** The steps that are whole now. */
  take(chunk: Uint8Array): readonly StructLog[] {
    this.rest += this.decoder.decode(chunk, { stream: true })
    if (!this.begun) {
      if (this.rest.length < HEAD.length) return []
      if (!this.rest.startsWith(HEAD)) throw new TraceError('trace', 'the core answered something else than struct logs')
      this.rest = this.rest.slice(HEAD.length)
      this.begun = true
    }
    const cut = this.rest.lastIndexOf(SEPARATOR)
    // Without a border all of it belongs to one step.
    if (cut <= 0) return []
    const steps = JSON.parse(`[${this.rest.slice(0, cut)}]`) as StructLog[]
    this.rest = this.rest.slice(cut + 1)
    return steps
  }

  /** The last step, and how the transaction ended. */
  finish(): { readonly steps: readonly StructLog[]; readonly summary: StructLogSummary } {
    const cut = this.rest.lastIndexOf(END)
    if (cut < 0) throw new TraceError('trace', 'the struct logs ended too early')
    const steps = JSON.parse(`[${this.rest.slice(0, cut)}]`) as StructLog[]
    return { steps, summary: JSON.parse(`{${this.rest.slice(cut + 2)}`) as StructLogSummary }
  }
}

/**
 * The instructions of a transaction, one after the other: `for await` takes them as they are
 * executed, and the execution waits for the loop. It can be iterated once; leaving the loop early
 * ends the trace. While it is open it holds one of `workers.heavy_threads`.
 */
export class Steps implements AsyncIterable<StructLog> {
  /** How the transaction ended; settled once all steps were taken. */
  readonly summary: Promise<StructLogSummary>
  private readonly open: () => Promise<ResultStream>
  private readonly abort: AbortOptions
  private settle: (summary: StructLogSummary) => void = () => undefined
  private fail: (e: unknown) => void = () => undefined
  private used = false

  /** @internal */
  constructor(open: () => Promise<ResultStream>, abort: AbortOptions) {
    this.open = open
    this.abort = abort
    this.summary = new Promise((resolve, reject) => {
      this.settle = resolve
      this.fail = reject
    })
    // The loop over the steps gets the failure.
    this.summary.catch(() => undefined)
  }

  async *[Symbol.asyncIterator](): AsyncIterator<StructLog, void, undefined> {
    for await (const steps of this.batches()) yield* steps
  }

  /** Arrays of steps as they come, which is faster than one by one. */
  async *batches(): AsyncGenerator<readonly StructLog[], void, undefined> {
    if (this.used) throw new TraceError('trace', 'steps can be gone through once')
    this.used = true
    let stream: ResultStream | undefined
    const cancel = (): void => stream?.cancel()
    const { signal } = this.abort
    try {
      checkSignal(this.abort)
      stream = await this.open()
      checkSignal(this.abort)
      signal?.addEventListener('abort', cancel, { once: true })
      const cutter = new Cutter()
      for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) {
        const steps = cutter.take(chunk)
        if (steps.length > 0) yield steps
        checkSignal(this.abort)
      }
      const { steps, summary } = cutter.finish()
      this.settle(summary)
      if (steps.length > 0) yield steps
    } catch (e) {
      const error = signal?.aborted === true ? signal.reason : hearthError(e)
      this.fail(error)
      throw error
    } finally {
      signal?.removeEventListener('abort', cancel)
      cancel()
      this.fail(new TraceError('trace', 'the steps were left before their end'))
    }
  }
}
