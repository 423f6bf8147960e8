// The chunks of a body in memory.
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import v8 from 'node:v8'
import vm from 'node:vm'
import { describe, expect, it } from 'vitest'
import { isRefused } from '../../ts/rpc/scan.ts'
import { type BodyFailure, BodyFragmented, BodyTooLarge, Gathered, readBody } from '../../ts/server/body.ts'
import { IdleClock } from '../../ts/server/idle.ts'

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc') as () => void

/** A body that is read from chunks. */
function read(chunks: readonly Buffer[], isRefusedBy = (_head: string): boolean => false): string | BodyFailure | undefined {
  const request = Object.assign(new EventEmitter(), { headers: {} })
  let outcome: string | BodyFailure | undefined
  const limits = { bytes: 1e9, idle: new IdleClock(0), take: () => undefined, isRefusedBy }
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

describe('a body that is refused by its beginning', () => {
  const limits = { requests: 1000 }
  const call = '{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber","params":["é☃"]}'
  const chunksOf = (text: string, size: number): Buffer[] => {
    const bytes = Buffer.from(text)
    return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
  }
  const outcome = (text: string, size: number) => read(chunksOf(text, size), (head) => isRefused(head, limits))

  it('is given as far as it had come', () => {
    const batch = `[${Array(40_000).fill(call).join(',')}]`
    for (const size of [65_536, 65_521, 1_000_000]) {
      const head = outcome(batch, size) as string
      expect(Buffer.byteLength(head)).toBeLessThan(128 * 1024 + size + 3)
      expect(batch.startsWith(head.replaceAll('\ufffd', '').slice(0, 50_000))).toBe(true)
      expect(isRefused(head, limits)).toBe(true)
    }
    expect(outcome(`${'['.repeat(200)}${' '.repeat(1_000_000)}`, 65_536)).toHaveLength(64 * 1024)
  })

  it('is asked of large bodies as they come, of others never', () => {
    const heads: number[] = []
    const counted = (head: string): boolean => {
      heads.push(head.length)
      return false
    }
    expect(read(chunksOf('x'.repeat(65_535), 16_384), counted)).toHaveLength(65_535)
    expect(heads).toEqual([])
    expect(read(chunksOf('x'.repeat(2_000_000), 65_536), counted)).toHaveLength(2_000_000)
    expect(heads.splice(0)).toEqual([65_536, 131_072, 262_144])
    expect(read(chunksOf('x'.repeat(2_000_000), 1_000_000), counted)).toHaveLength(2_000_000)
    expect(heads).toEqual([1_000_000])
  })

  it('is never one that the whole text would pass', () => {
    const large = call.replace('é☃', 'x'.repeat(2_000))
    const whole = `[ ${Array(1000).fill(large).join(' , ')} ]`
    expect(isRefused(whole, limits)).toBe(false)
    for (let at = 0; at < whole.length; at += 997) expect(isRefused(whole.slice(0, at), limits), `${at}`).toBe(false)
    const closing = whole.lastIndexOf('}')
    for (let at = closing - 40; at <= whole.length; at++) expect(isRefused(whole.slice(0, at), limits), `${at}`).toBe(false)
  })
})

describe('a body beyond 5 MiB', () => {
  it('is read as ASCII, and is too large otherwise', () => {
    const ascii = (count: number): Buffer[] => Array.from({ length: count }, () => Buffer.alloc(1024 * 1024, 'x'))
    const wide = Buffer.from('я')
    expect(read(ascii(6))).toHaveLength(6 * 1024 * 1024)
    expect(read([...ascii(4), wide])).toHaveLength(4 * 1024 * 1024 + 1)
    expect(read([...ascii(5), wide])).toBeInstanceOf(BodyTooLarge)
    expect(read([wide, ...ascii(5)])).toBeInstanceOf(BodyTooLarge)
  })

  it('leaves nothing to the garbage collector but its text', () => {
    const parts = Array.from({ length: 40 }, () => Buffer.alloc(64 * 1024, 'x'))
    const shared = Buffer.alloc(128 * 1024, 'y').subarray(0, 64 * 1024)
    expect(read([...parts, shared])).toBe(`${'x'.repeat(40 * 64 * 1024)}${'y'.repeat(64 * 1024)}`)
    expect(parts.filter((part) => part.length > 0)).toEqual([])
    expect(shared.length).toBe(64 * 1024)
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
