// The chunks of a body in memory.
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import v8 from 'node:v8'
import vm from 'node:vm'
import { describe, expect, it } from 'vitest'
import { type BodyFailure, BodyFragmented, Gathered, readBody } from '../../ts/server/body.ts'
import { IdleClock } from '../../ts/server/idle.ts'

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc') as () => void

/** A body that is read from chunks. */
function read(chunks: readonly Buffer[]): string | BodyFailure | undefined {
  const request = Object.assign(new EventEmitter(), { headers: {} })
  let outcome: string | BodyFailure | undefined
  const limits = { bytes: 1e9, idle: new IdleClock(0), take: () => undefined }
  readBody(request as unknown as IncomingMessage, limits, (body) => {
    outcome = body
  })
  for (const chunk of chunks) request.emit('data', chunk)
  request.emit('end')
  return outcome
}

describe('a body in many chunks', () => {
  it('is refused where they are small on average', () => {
    const [one, many] = [Buffer.from('x'), Buffer.alloc(64, 'x')]
    expect(read(Array(4096).fill(one))).toBe('x'.repeat(4096))
    expect(read(Array(4097).fill(one))).toBeInstanceOf(BodyFragmented)
    expect(read(Array(10_000).fill(many))).toBe('x'.repeat(640_000))
    expect(read([...Array(4096).fill(many), ...Array(4096).fill(one)])).toBeInstanceOf(BodyFragmented)
  })
})

describe('the chunks of a body', () => {
  it('are put together in order, whatever their sizes', () => {
    const text = Array.from({ length: 40_000 }, (_, i) => `${i}☃`).join(' ')
    const bytes = Buffer.from(text)
    for (const sizes of [[1], [7, 1, 20_000, 3], [70_000], [16_383, 16_384, 16_385], [bytes.length]]) {
      const body = new Gathered()
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes[i % sizes.length] as number
        body.add(bytes.subarray(at, at + size))
        at += size
      }
      expect(body.text() === text, sizes.join()).toBe(true)
    }
    expect(new Gathered().text()).toBe('')
  })

  it('of one byte each do not hold the reads that they came in', async () => {
    const reads: WeakRef<ArrayBufferLike>[] = []
    const body = new Gathered()
    for (let i = 0; i < 200; i++) {
      const read = Buffer.alloc(64 * 1024, 0x61)
      reads.push(new WeakRef(read.buffer))
      for (let at = 0; at < 100; at++) body.add(read.subarray(at, at + 1))
    }
    // A WeakRef holds its target until the turn of the event loop in which it was made ends.
    await setImmediate()
    collect()
    // The first chunk is kept as it came.
    expect(reads.filter((ref) => ref.deref() !== undefined).length).toBeLessThanOrEqual(2)
    expect(body.text()).toBe('a'.repeat(20_000))
  })
})
