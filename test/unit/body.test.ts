// The chunks of a body in memory.
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import v8 from 'node:v8'
import vm from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { RpcError } from '../../ts/rpc/errors.ts'
import { ByteScanner, type Received, scan } from '../../ts/rpc/scan.ts'
import { type BodyFailure, BodyFragmented, BodyTooLarge, Gathered, readBody } from '../../ts/server/body.ts'
import { IdleClock } from '../../ts/server/idle.ts'

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc') as () => void

type Look = (bytes: Buffer, isWhole: boolean) => RpcError | undefined

/** A body that is read from chunks. */
function read(chunks: readonly Buffer[], look?: Look): Received | BodyFailure | undefined {
  const request = Object.assign(new EventEmitter(), { headers: {} })
  let outcome: Received | BodyFailure | undefined
  const limits = { bytes: 1e9, idle: new IdleClock(0), take: () => undefined, ...(look && { look }) }
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

  it('is given up as soon as that is known', () => {
    const batch = `[${Array(40_000).fill(call).join(',')}]`
    for (const size of [65_536, 65_521, 1_000_000]) {
      const scanner = new ByteScanner(limits)
      let seen = 0
      const outcome = read(chunksOf(batch, size), (bytes, isWhole) => {
        seen = bytes.length
        return scanner.look(bytes, isWhole)
      })
      expect(outcome).toMatchObject({ code: -32600, message: 'batch too large', id: '7' })
      expect(seen).toBeLessThan(72 * 1024 + size)
    }
    const scanner = new ByteScanner(limits)
    const nested = read(chunksOf(`${'['.repeat(200)}${' '.repeat(1_000_000)}`, 65_536), (...of) => scanner.look(...of))
    expect(nested).toMatchObject({ code: -32700 })
  })

  it('is looked at while it comes where it is large', () => {
    const looks: [bytes: number, isWhole: boolean][] = []
    const look: Look = (bytes, isWhole) => {
      looks.push([bytes.length, isWhole])
      return undefined
    }
    expect(read(chunksOf('x'.repeat(32_767), 16_384), look)).toHaveLength(32_767)
    expect(looks).toEqual([])
    expect(read(chunksOf('x'.repeat(200_000), 65_536), look)).toHaveLength(200_000)
    expect(looks.splice(0)).toEqual([
      [65_536, false],
      [131_072, false],
      [196_608, false],
      [200_000, true],
    ])
    // Small chunks are looked at together.
    expect(read(chunksOf('x'.repeat(70_000), 1000), look)).toHaveLength(70_000)
    expect(looks).toEqual([
      [33_000, false],
      [66_000, false],
      [70_000, true],
    ])
  })

  it('is never one that the whole text would pass', () => {
    const large = call.replace('é☃', 'x'.repeat(2_000))
    const whole = `[ ${Array(1000).fill(large).join(' , ')} ]`
    expect(scan(whole, limits).ids).toHaveLength(1000)
    const bytes = Buffer.from(whole)
    const scanner = new ByteScanner(limits)
    for (let at = 0; at < bytes.length; at += 997) expect(scanner.look(bytes.subarray(0, at), false), `${at}`).toBeUndefined()
    expect(scanner.look(bytes, true)).toBeUndefined()
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
  it('are copied into memory that is no larger than needed', () => {
    const body = new Gathered(5_000_000)
    let largest = 0
    for (let i = 0; i < 76; i++) {
      body.add(Buffer.alloc(65_536, 0x61))
      largest = Math.max(largest, body.bytes().buffer.byteLength / ((i + 1) * 65_536))
    }
    // A client that declares much and sends little takes little.
    expect(largest).toBeLessThanOrEqual(4)
    expect(body.bytes().buffer.byteLength).toBe(5_000_000)
    expect(body.message()).toBe('a'.repeat(76 * 65_536))
    expect(body.bytes()).toHaveLength(0)
  })

  it('may be UTF-8 or not', () => {
    for (const text of ['☃', 'я']) expect(read([Buffer.from(text.repeat(20_000)), Buffer.from('x')])).toBe(`${text.repeat(20_000)}x`)
    const broken = Buffer.concat([Buffer.alloc(100_000, 'x'), Buffer.from([0xff])])
    expect(read([broken])).toBe(`${'x'.repeat(100_000)}\ufffd`)
  })

  it('are put together in order, whatever their sizes', () => {
    const text = Array.from({ length: 40_000 }, (_, i) => `${i}☃`).join(' ')
    const bytes = Buffer.from(text)
    for (const sizes of [[1], [7, 1, 20_000, 3], [70_000], [16_383, 16_384, 16_385], [bytes.length]]) {
      const body = new Gathered(bytes.length)
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes[i % sizes.length] as number
        body.add(bytes.subarray(at, at + size))
        at += size
      }
      expect(body.message() === text, sizes.join()).toBe(true)
    }
    expect(new Gathered(0).message()).toBe('')
  })

  it('of one byte each do not hold the reads that they came in', async () => {
    const reads: WeakRef<ArrayBufferLike>[] = []
    const body = new Gathered(20_000)
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
    expect(body.message()).toBe('a'.repeat(20_000))
  })
})
