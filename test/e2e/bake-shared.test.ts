// Long baked answers, which are sent from the memory of the cache: the same for every client.
import fs from 'node:fs'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import WebSocket from 'ws'
import { allBaked, BAKING, CALLER, Sender, startDev, trace } from './bake-node.ts'
import { tempHome } from './harness.ts'

const homes: string[] = []
afterAll(() => {
  for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
})

const METHOD = 'debug_traceBlockByNumber'

/** Gas of one transaction each: traces of some 60, 200 and 700 KB. */
const GAS = [90_000n, 150_000n, 400_000n]

const paramsOf = (height: number, tracerConfig?: object): unknown[] => [
  `0x${height.toString(16)}`,
  { tracer: 'callTracer', ...(tracerConfig && { tracerConfig }) },
]

async function overHttp(url: string, body: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json', 'accept-encoding': 'identity' }
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json()
}

function overWebSocket(url: string, body: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    socket.once('error', reject).once('open', () => socket.send(JSON.stringify(body)))
    socket.once('message', (data) => {
      socket.close()
      resolve(JSON.parse(data.toString()))
    })
  })
}

/** The bodies of answers to a client that sends its requests together and reads late. */
async function read(url: string, bodies: readonly string[]): Promise<string[]> {
  const { hostname, port } = new URL(url)
  const socket = net.connect({ host: hostname, port: Number(port) })
  const got: Buffer[] = []
  socket.on('data', (chunk) => got.push(chunk)).pause()
  for (const body of bodies) {
    socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await sleep(20)
  }
  await sleep(300)
  socket.resume()
  const found: string[] = []
  while (found.length < bodies.length) {
    const all = Buffer.concat(got).toString('latin1')
    found.length = 0
    for (let at = all.indexOf('\r\n\r\n'); at >= 0; at = all.indexOf('\r\n\r\n', at)) {
      const length = Number(/content-length: (\d+)/.exec(all.slice(0, at).slice(-600))?.[1])
      if (all.length < at + 4 + length) break
      found.push(all.slice(at + 4, at + 4 + length))
      at += 4 + length
    }
    await sleep(10)
  }
  socket.destroy()
  return found
}

it.each([6, 0])('a long answer at level %i is the same for every client', async (level) => {
  const home = tempHome()
  homes.push(home)
  const node = await startDev(home, ...BAKING, `--evm.trace_cache_gzip_level=${level}`, '--evm.ws_port=0')
  try {
    const sender = new Sender(node)
    for (const gas of GAS) await sender.send(CALLER, undefined, gas)
    await allBaked(node, GAS.length)
    const expected: unknown[] = []
    for (const height of GAS.keys()) {
      const { text, result } = await trace(node.url, METHOD, paramsOf(height + 1, { withLog: false, onlyTopCall: false, timeout: '9s' }))
      expect(text.length).toBeGreaterThan(50_000)
      expected.push(result)
    }
    const calls = expected.map((_, i) => ({ jsonrpc: '2.0', id: i, method: METHOD, params: paramsOf(i + 1) }))
    // Cold, then from memory.
    for (let round = 0; round < 2; round++) {
      for (const encoding of ['identity', 'gzip']) {
        for (const [i, result] of expected.entries()) {
          const got = await trace(node.url, METHOD, paramsOf(i + 1), encoding)
          expect([got.from, JSON.stringify(got.result) === JSON.stringify(result)]).toEqual(['baked', true])
        }
      }
      const wanted = expected.map((result, id) => ({ jsonrpc: '2.0', id, result }))
      expect(JSON.stringify(await overHttp(node.url, calls)) === JSON.stringify(wanted)).toBe(true)
      for (const [i, call] of calls.entries()) {
        expect(JSON.stringify(await overWebSocket(node.ws as string, call)) === JSON.stringify(wanted[i])).toBe(true)
      }
      const twice = [...calls, ...calls].map((call) => JSON.stringify(call))
      const late = await read(node.url, twice)
      expect(late.map((text) => text === JSON.stringify(wanted[(JSON.parse(text) as { id: number }).id]))).toEqual(twice.map(() => true))
    }
  } finally {
    expect(await node.stop()).toBe(0)
  }
})
