// What is left of refused bodies.
import { EventEmitter } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { RpcError } from '../../ts/rpc/errors.ts'
import { readBody } from '../../ts/server/body.ts'
import { Drain } from '../../ts/server/drain.ts'
import { IdleClock } from '../../ts/server/idle.ts'

const MIB = 1024 * 1024

const refusal = (bytes: number): RpcError => new RpcError(-32600, `${bytes}`)

/** Refuses a body by its first bytes where they are `[`, and answers how many it took. */
const drain = new Drain()
const server = http.createServer((request, response) => {
  const limits = {
    bytes: 64 * MIB,
    idle: new IdleClock(0),
    take: () => undefined,
    look: (bytes: Buffer) => (bytes[0] === 0x5b ? refusal(bytes.length) : undefined),
  }
  readBody(request, limits, (body) => {
    if (!request.complete) drain.add(request)
    response.end(`${body instanceof RpcError ? body.message : (body as string).length}`)
  })
})

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => new Promise((resolve) => server.close(resolve)))

/** A connection, and what has come over it. */
async function connect(): Promise<{ socket: net.Socket; text: () => string }> {
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  return { socket, text: () => text }
}

async function until(isMet: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !isMet(); i++) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(isMet()).toBe(true)
}

const head = (bytes: number): string => `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${bytes}\r\n\r\n`

describe('a body that is refused by its beginning', () => {
  it('is answered before the rest of it comes', async () => {
    const { socket, text } = await connect()
    socket.write(`${head(5 * MIB)}[${' '.repeat(MIB - 1)}`)
    await until(() => text().includes('200 OK'))
    expect(text()).not.toContain('5242880')
    // The connection serves its next request once the rest has come.
    socket.write(Buffer.alloc(4 * MIB, ' '))
    socket.write(`${head(3)}{ }`)
    await until(() => text().endsWith('\r\n\r\n3'))
    socket.destroy()
  })

  it('leaves in turns that bound all such bodies together', async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, connect))
    const began = performance.now()
    for (const { socket } of clients) socket.write(Buffer.concat([Buffer.from(`${head(4 * MIB)}[`), Buffer.alloc(4 * MIB - 1)]))
    for (const { socket } of clients) socket.write(`${head(3)}{ }`)
    await Promise.all(clients.map(({ text }) => until(() => text().endsWith('\r\n\r\n3'))))
    // 12 MiB and more were left, of which 10 ms let 64 KiB and what a read has beyond pass.
    expect(performance.now() - began).toBeGreaterThan(900)
    for (const { socket } of clients) socket.destroy()
  })

  it('is cut off where too many others came after it', async () => {
    const clients = await Promise.all(Array.from({ length: 40 }, connect))
    const closed = clients.map(({ socket }) => {
      let isClosed = false
      socket.on('close', () => {
        isClosed = true
      })
      return () => isClosed
    })
    for (const [i, { socket, text }] of clients.entries()) {
      socket.on('error', () => undefined)
      socket.write(`${head(8 * MIB)}[${' '.repeat(256 * 1024)}`)
      await until(() => text().includes('200 OK') || closed[i]?.() === true)
    }
    await until(() => closed.slice(0, 6).every((isClosed) => isClosed()))
    expect(closed.at(-1)?.()).toBe(false)
    for (const { socket } of clients) socket.destroy()
  })

  it('is answered at a bounded pace for each client', async () => {
    const began = performance.now()
    const answered: string[] = []
    const paced = new Drain()
    for (const client of ['a', 'a', 'b', 'a']) paced.answer(client, new EventEmitter(), () => void answered.push(client))
    expect(answered).toEqual(['a', 'b'])
    await until(() => answered.length === 4)
    // Two waits of 250 ms, one after the other; a timer ends up to a millisecond early.
    expect(performance.now() - began).toBeGreaterThanOrEqual(498)
  })

  it('is not answered after its response is closed', async () => {
    const paced = new Drain()
    const answered: string[] = []
    const [first, gone, last] = [new EventEmitter(), new EventEmitter(), new EventEmitter()]
    paced.answer('a', first, () => void answered.push('first'))
    paced.answer('a', gone, () => void answered.push('gone'))
    gone.emit('close')
    paced.answer('a', last, () => void answered.push('last'))
    await until(() => answered.includes('last'))
    expect(answered).toEqual(['first', 'last'])
  })

  it('waits for a bounded number of others of its client', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      const paced = new Drain()
      let answered = 0
      for (let i = 0; i < 1000; i++) paced.answer('a', new EventEmitter(), () => void answered++)
      vi.advanceTimersByTime(3_199)
      expect(answered).toBe(13)
      vi.advanceTimersByTime(1)
      expect(answered).toBe(1000)
    } finally {
      vi.useRealTimers()
    }
  })
})
