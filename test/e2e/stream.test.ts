// Long answers: a struct log of ten million steps costs the node no memory, and its reader may be
// slow.
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { message, post, type Take } from './raw.ts'
import { doubled, settled, until } from './waiting.ts'

const MIB = 1024 * 1024

/** JUMPDEST PUSH1 7 POP PUSH1 0 JUMP: five steps and 17 gas a turn. */
const LOOP = '0x5b600750600056'
const TARGET = `0x${'71'.repeat(20)}`

/**
 * Steps of the longest trace. Its cost does not depend on them, so only the full run takes ten
 * million.
 */
const STEPS = process.env.HEARTH_TEST === 'full' ? 10_000_000 : 1_000_000

const home = tempHome()
let node: RunningNode

beforeAll(async () => {
  node = await startNode(['dev', '--home', home])
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

/** Traces a call that runs out of gas after `steps` steps, and a few. */
const traceCall = (id: number, config: object, steps = STEPS) => {
  const gas = 21_000 + (steps / 5 + 1) * 17
  return {
    jsonrpc: '2.0',
    id,
    method: 'debug_traceCall',
    params: [{ to: TARGET, gas: `0x${gas.toString(16)}` }, 'latest', { stateOverrides: { [TARGET]: { code: LOOP } }, ...config }],
  }
}

/** Counts steps without keeping them. */
class Steps {
  count = 0
  bytes = 0
  head = ''
  tail = ''
  readonly take: Take = (bytes) => {
    const text = this.tail.slice(-5) + bytes.toString('latin1')
    for (let at = text.indexOf('{"pc":'); at !== -1; at = text.indexOf('{"pc":', at + 6)) this.count++
    this.bytes += bytes.length
    if (this.head.length < 200) this.head += bytes.toString('latin1')
    this.tail = (this.tail + bytes.toString('latin1')).slice(-400)
  }
}

/** Memory of the node, in bytes: now, or its peak since `forgetPeak`. */
const memory = (field: 'VmRSS' | 'VmHWM'): number => {
  const status = fs.readFileSync(`/proc/${node.pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
}
const forgetPeak = (): void => fs.writeFileSync(`/proc/${node.pid}/clear_refs`, '5')

const OVER = {
  http: (body: string, take: Take, restMs?: number) => post(node.url, body, take, restMs),
  ws: (body: string, take: Take, restMs?: number) => message(node.ws, body, take, restMs),
}

describe.skipIf(process.platform !== 'linux')(`${STEPS / 1_000_000} million steps`, () => {
  it.each([
    ['http', 'alone'],
    ['ws', 'alone'],
    ['http', 'in a batch'],
    ['ws', 'in a batch'],
  ] as const)('over %s, %s, cost at most 64 MiB', async (over, how) => {
    const call = traceCall(1, { timeout: '5m' })
    // What the first of all requests brings into memory stays there.
    await OVER[over](JSON.stringify(traceCall(0, { timeout: '5m', limit: 3 * MIB })), () => undefined)
    const before = memory('VmRSS')
    forgetPeak()
    const steps = new Steps()
    const chainId = { jsonrpc: '2.0', id: 2, method: 'eth_chainId', params: [] }
    await OVER[over](JSON.stringify(how === 'alone' ? call : [chainId, call]), steps.take)
    const grown = memory('VmHWM') - before
    const answer = '{"jsonrpc":"2.0","id":1,"result":{"structLogs":[{"pc":0,'
    expect(steps.head).toContain(how === 'alone' ? answer : `[{"jsonrpc":"2.0","id":2,"result":"0x7a69"},${answer}`)
    expect(steps.tail).toMatch(/\}\],"gas":\d+,"failed":true,"returnValue":"0x"\}\}\]?$/)
    expect(steps.count).toBeGreaterThanOrEqual(STEPS)
    expect(steps.bytes).toBeGreaterThan(STEPS * 60)
    expect(grown / MIB).toBeLessThanOrEqual(64)
  })
})

describe('a trace that runs out of time', () => {
  it('before much was sent is an ordinary error', async () => {
    const { params } = traceCall(1, { timeout: '1ns' })
    expect(await rpc(node.url, 'debug_traceCall', params)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32000, message: 'execution timeout' },
    })
  })
})

/** Bytes that the system holds for the client of a connection, by the client's port (proc(5)). */
function heldFor(port: number): number {
  const rows = fs.readFileSync('/proc/net/tcp', 'utf8').split('\n')
  const ofClient = rows
    .map((row) => row.trim().split(/\s+/))
    .find(([, , remote]) => Number.parseInt(remote?.split(':')[1] ?? '', 16) === port)
  return Number.parseInt(ofClient?.[4]?.split(':')[0] ?? '', 16)
}

describe.skipIf(process.platform !== 'linux')('a client that reads nothing', () => {
  /** Sends a request and reads nothing of its answer; gives the client's port, and what ends it. */
  const silent = {
    http: async (body: string): Promise<[port: number, end: () => void]> => {
      const { hostname, port, host } = new URL(node.url)
      const socket = net.connect({ host: hostname, port: Number(port) })
      await once(
        socket.on('error', () => undefined),
        'connect',
      )
      socket
        .pause()
        .write(`POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
      return [socket.localPort as number, () => socket.destroy()]
    },
    ws: async (body: string): Promise<[port: number, end: () => void]> => {
      const socket = new WebSocket(node.ws)
      let port = 0
      socket.once('upgrade', (response) => {
        port = response.socket.localPort as number
      })
      await once(socket, 'open')
      socket.pause()
      socket.send(body)
      return [port, () => socket.terminate()]
    },
  }

  it.each(['http', 'ws'] as const)('has little of its trace made (%s)', async (over) => {
    const [port, end] = await silent[over](JSON.stringify(traceCall(1, { timeout: '5m' }, 300_000)))
    try {
      await until('the trace has begun', () => heldFor(port) > 0)
      const held = await settled('the trace waits for its reader', () => heldFor(port))
      // The system would take about 4 MiB.
      expect(held / MIB).toBeLessThanOrEqual(1)
    } finally {
      end()
    }
  })
})

describe('a reader that is slower than the timeout allows', () => {
  const STEPS = 300_000

  it.each(['http', 'ws'] as const)('gets the whole answer: waiting for it is none of its time (%s)', async (over) => {
    // A reader that never rests says how long these steps take here.
    const asked = performance.now()
    await OVER[over](JSON.stringify(traceCall(1, { timeout: '5m' }, STEPS)), () => undefined)
    const shortMs = Math.max(1000, 4 * Math.ceil(performance.now() - asked))
    // A machine that became busy meanwhile may need longer than that for the steps themselves.
    // Where waiting counted, no timeout would be kept.
    await doubled('a timeout that the steps keep', { from: shortMs, most: 8 * shortMs }, async (timeoutMs) => {
      let isWhole = true
      await doubled('rests that take longer than the timeout', { from: 10, most: 10_000 }, async (restMs) => {
        const steps = new Steps()
        const began = performance.now()
        await OVER[over](JSON.stringify(traceCall(1, { timeout: `${timeoutMs}ms` }, STEPS)), steps.take, restMs)
        isWhole = /\}\],"gas":\d+,"failed":true,"returnValue":"0x"\}\}$/.test(steps.tail) && steps.count >= STEPS
        if (!isWhole) console.log(`not whole in ${timeoutMs} ms: ${steps.count} steps, ${steps.tail.slice(-100)}`)
        return !isWhole || performance.now() - began > 2 * timeoutMs
      })
      return isWhole
    })
  })
})
