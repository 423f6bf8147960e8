// Replies that are sent in chunks while they are made.
import type { ByteStream, GzipBody, StreamBody } from '../core/body.ts'
import { CoreError } from '../core/error.ts'
import { lateError, RESULT_TAIL, resultHead } from './envelope.ts'
import { toRpcError } from './errors.ts'
import type { Sample } from './meter.ts'

const encoder = new TextEncoder()

/** Kinds of failures after which what came of a result is a whole value, only cut short. */
const WHOLE_KINDS: ReadonlySet<string> = new Set(['trace', 'execution'])

/**
 * A result between its envelope, in chunks. A failure in the middle of a result that is a value all
 * the same becomes a member `error` behind it; after any other failure nothing can be made whole,
 * and it is thrown.
 */
export async function* enveloped(
  id: string,
  stream: ByteStream,
  sample: Sample,
  report: (e: unknown) => void,
): AsyncGenerator<Uint8Array, void> {
  yield encoder.encode(resultHead(id))
  let tail = RESULT_TAIL
  try {
    for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) {
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

/**
 * Chunks as a stream. `cancel` ends the work behind them; requests that are still open then, or
 * when the work fails in a way that has no answer, count as cut off.
 */
export class ReplyStream implements ByteStream {
  private readonly ready: Uint8Array[]
  private readonly chunks: AsyncGenerator<Uint8Array, void>
  private readonly samples: readonly Sample[]
  private readonly end: () => void

  /** `ready` are chunks that come before the others. */
  constructor(chunks: AsyncGenerator<Uint8Array, void>, samples: readonly Sample[], end: () => void, ready: Uint8Array[] = []) {
    this.ready = ready
    this.chunks = chunks
    this.samples = samples
    this.end = end
  }

  async next(): Promise<Uint8Array | null> {
    const chunk = this.ready.shift()
    if (chunk !== undefined) return chunk
    try {
      const more = await this.chunks.next()
      return more.done === true ? null : more.value
    } catch (e) {
      this.cutOff()
      throw e
    }
  }

  cancel(): void {
    this.cutOff()
    this.end()
  }

  private cutOff(): void {
    for (const sample of this.samples) sample.cutOff()
  }
}

async function* succeeding(stream: ByteStream, sample: Sample): AsyncGenerator<Uint8Array, void> {
  for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) yield chunk
  sample.succeed()
}

/** A gzip member as the body of a reply: a request has succeeded once the last chunk is there. */
export function measuredGzip(body: GzipBody, sample: Sample): GzipBody {
  const { length, member } = body
  sample.made(length)
  if (member.kind !== 'stream') {
    sample.succeed()
    return body
  }
  const { stream } = member
  const sent: StreamBody = { kind: 'stream', stream: new ReplyStream(succeeding(stream, sample), [sample], () => stream.cancel()) }
  return { kind: 'gzip', length, member: sent }
}
