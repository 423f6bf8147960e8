// A core for tests: remembers what it was asked and answers with what it is told to.
import { CoreError } from '../../ts/core/error.ts'
import type { Core, ResultStream } from '../../ts/core/port.ts'

type Reply = string | Error | ((args: unknown) => Promise<string>)

/** Chunks to stream; an error among them fails the stream at that place. */
export interface FakeStream extends ResultStream {
  cancelled: boolean
  taken: number
}

export function fakeStream(chunks: readonly (string | Error)[]): FakeStream {
  const queue = [...chunks]
  return {
    cancelled: false,
    taken: 0,
    async next() {
      const chunk = queue.shift()
      if (chunk instanceof Error) throw chunk
      if (chunk !== undefined) this.taken++
      return chunk === undefined ? null : Buffer.from(chunk)
    },
    cancel() {
      this.cancelled = true
    },
  }
}

export function fakeCore(
  replies: Record<string, Reply>,
  stream: () => ResultStream = () => fakeStream([]),
): Core & { asked: [string, unknown][] } {
  const asked: [string, unknown][] = []
  return {
    asked,
    async request(op, args) {
      asked.push([op, args])
      const reply = replies[op]
      if (reply === undefined) throw new CoreError('internal', `no reply for ${op}`)
      if (reply instanceof Error) throw reply
      return Buffer.from(typeof reply === 'string' ? reply : await reply(args))
    },
    stream(op, args) {
      asked.push([op, args])
      return stream()
    },
    close: async () => undefined,
  }
}
