// A node with more to do than it can: long work waits its turn and is refused beyond bounds, cheap calls go on, memory is given back, clients
// that leave leave nothing behind, and thousands of connections are held.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { allBaked, BAKING, metricsOf, Sender, startDev, trace, until } from './bake-node.ts'
import { ROOT, type RunningNode, rpc, startNode, tempHome } from './harness.ts'

const home = tempHome()
let hashes: string[]
beforeAll(async () => {
  const made = await startDev(home, ...BAKING)
  hashes = await new Sender(made).scene()
  await allBaked(made, hashes.length)
  expect(await made.stop()).toBe(0)
}, 60_000)
afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

let node: RunningNode
afterEach(async () => {
  expect(await node.stop()).toBe(0)
})
const start = async (...settings: string[]): Promise<void> => {
  node = await startNode(['start', '--home', home, ...settings])
}

/** JUMPDEST PUSH1 1 POP PUSH1 0 JUMP, until the gas is used up or the time is. */
const ADDRESS = '0x00000000000000000000000000000000000d00d5'
const loops = { [ADDRESS]: { code: '0x5b600150600056' } }
const looping = { to: ADDRESS, gas: '0x174876e800' }
const LOOP_GAS = '--evm.simulation_gas_limit=100000000000'

/** One request from an address of this machine; `leaveMs`: the client goes after so long. */
function ask(
  method: string,
  params: unknown[],
  from = '127.0.0.1',
  leaveMs?: number,
): Promise<{ ms: number; error?: { code: number; message: string } }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const began = performance.now()
  return new Promise((resolve) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, agent: false, localAddress: from }
    const request = http.request(node.url, options, (response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => resolve({ ms: performance.now() - began, ...JSON.parse(text) }))
    })
    request.on('error', (e) => resolve({ ms: performance.now() - began, error: { code: 0, message: e.message } }))
    request.end(body)
    if (leaveMs !== undefined) setTimeout(() => request.destroy(), leaveMs)
  })
}

/** A trace that runs for so many milliseconds. */
const runs = (ms: number, from?: string, leaveMs?: number) =>
  ask('debug_traceCall', [looping, 'latest', { tracer: 'callTracer', timeout: `${ms}ms`, stateOverrides: loops }], from, leaveMs)
/** A call that runs until its own time is over. */
const calls = (from?: string, leaveMs?: number) => ask('eth_call', [looping, 'latest', loops], from, leaveMs)

describe('long work', () => {
  it('is refused at once where its queue is full, and a client with less in it finds room', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_trace_calls=1', '--workers.heavy_queue=2')
    const running = runs(1500)
    await sleep(300)
    const waiting = [runs(50), runs(50)]
    await sleep(100)
    const over = await runs(50)
    expect(over.error).toEqual({ code: -32005, message: 'node is busy: the heavy queue is full (2 waiting)' })
    expect(over.ms).toBeLessThan(500)
    const other = runs(50, '127.0.0.2')
    const answers = await Promise.all([...waiting, other])
    const refused = answers.map(({ error }) => error?.code === -32005)
    expect(refused, 'the newest of the client that has most gave way').toEqual([false, true, false])
    expect((await running).error?.message).toBe('execution timeout')
  })

  it('waits no longer than workers.heavy_wait, and one kind does not hold up another', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_trace_calls=1', '--evm.max_concurrent_simulation_calls=1', '--workers.heavy_wait=400ms')
    const running = runs(2000)
    await sleep(200)
    const late = runs(50)
    const beside = await ask('eth_call', [{ to: ADDRESS }, 'latest'])
    expect([beside.error, beside.ms < 400]).toEqual([undefined, true])
    const { error, ms } = await late
    expect(error).toEqual({ code: -32005, message: 'node is busy: no thread of the heavy pool was free for 400 ms' })
    expect(ms >= 390 && ms < 1200, String(ms)).toBe(true)
    await running
  })

  it('takes turns by client', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_trace_calls=1')
    const order: string[] = []
    const one = (name: string, from: string) => runs(150, from).then(() => order.push(name))
    const first = one('first', '127.0.0.2')
    await sleep(50)
    const greedy = ['greedy 1', 'greedy 2', 'greedy 3'].map((name) => one(name, '127.0.0.2'))
    await sleep(50)
    await Promise.all([first, ...greedy, one('modest', '127.0.0.3')])
    expect(order.indexOf('modest'), order.join(', ')).toBeLessThan(3)
  })

  it('of clients that leave ends, that which waits too', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_simulation_calls=1', '--evm.simulation_evm_timeout=20s')
    const gone = [calls('127.0.0.2', 500), calls('127.0.0.2', 500)]
    await sleep(300)
    const { error, ms } = await ask('eth_call', [{ to: ADDRESS }, 'latest'], '127.0.0.3')
    expect([error, ms < 5000], String(ms)).toEqual([undefined, true])
    await Promise.all(gone)
  })

  it('says how long it waited for its thread', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_trace_calls=1')
    const running = runs(500)
    await sleep(100)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_traceTransaction', params: [hashes[0], { tracer: 'callTracer' }] })
    const response = await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const waited = Number(/^wait;dur=([\d.]+)$/.exec(response.headers.get('server-timing') ?? '')?.[1])
    expect(waited > 100 && waited < 2000, String(waited)).toBe(true)
    await running
  })
})

describe('memory', () => {
  const memoryOf = (): number => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${node.pid}/status`, 'utf8'))?.[1]) * 1024
  const gauge = async (name: string): Promise<number | undefined> => (await metricsOf(node)).get(name)

  it('over its budget refuses long work alone, once the caches have given up theirs', async () => {
    await start('--memory.budget_bytes=64 MiB', ...BAKING, '--log.level=info')
    await until('a refusal', async () => (await ask('eth_call', [{ to: ADDRESS }, 'latest'])).error !== undefined)
    const { error } = await ask('eth_call', [{ to: ADDRESS }, 'latest'])
    expect(error?.code).toBe(-32005)
    expect(error?.message).toMatch(/^node is busy: it takes \d+ bytes of memory, and its budget is 67108864$/)
    const live = await trace(node.url, 'debug_traceTransaction', [hashes[0], { tracer: 'opcodeTracer' }])
    expect(live.error?.code).toBe(-32005)
    expect((await rpc(node.url, 'eth_blockNumber')).result).toBe('0x4')
    expect((await rpc(node.url, 'eth_getBalance', [ADDRESS, 'latest'])).result).toBe('0x0')
    const baked = await trace(node.url, 'debug_traceTransaction', [hashes[0], { tracer: 'callTracer' }])
    expect([baked.error, baked.from]).toEqual([undefined, 'baked'])
    expect(await gauge('node_memory_cache_percent')).toBe(6)
    expect(await gauge('node_memory_refusals_total')).toBeGreaterThan(1)
    expect(await gauge('node_memory_budget_bytes')).toBe(64 << 20)
    expect(await gauge('node_memory_used_bytes')).toBeGreaterThan(64 << 20)
    await until('the line in the log', async () => node.log().includes('long requests are refused'))
    const lines = node.log().split('\n')
    const rooms = lines
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { room: string; level: string; msg: string })
    const said = rooms.filter(({ room }) => room === 'memory').map(({ level }) => level)
    expect(said.indexOf('warn'), 'caches shrink first').toBeLessThan(said.indexOf('error'))
  })

  it('near its budget makes caches smaller and refuses nothing', async () => {
    await start('--memory.budget_bytes=off')
    await rpc(node.url, 'eth_call', [{ to: ADDRESS }, 'latest'])
    await sleep(1000)
    const usual = memoryOf()
    expect(await gauge('node_memory_cache_percent')).toBe(100)
    expect(await node.stop()).toBe(0)
    // Two runs do not take the same to the byte: one of these budgets is a little more than what this one takes.
    for (const part of [0.9, 0.86, 0.94, 0.82]) {
      await start(`--memory.budget_bytes=${Math.round(usual / part)}`)
      const answers = []
      for (let i = 0; i < 15; i++) {
        answers.push((await ask('eth_call', [{ to: ADDRESS }, 'latest'])).error?.code)
        await sleep(100)
      }
      const [percent, refusals] = [await gauge('node_memory_cache_percent'), await gauge('node_memory_refusals_total')]
      expect(answers.filter((code) => code !== undefined).length, 'each refusal is counted').toBe(refusals)
      if (percent !== undefined && percent < 100 && refusals === 0) return
      expect(await node.stop()).toBe(0)
    }
    throw new Error('caches were never smaller without a refusal')
  })

  it('that is short is not filled with what tables are read for', async () => {
    // A sixteenth of it is in sixteen parts, each too small for any frame.
    const cached = async (budget: string): Promise<number | undefined> => {
      await start(`--memory.budget_bytes=${budget}`, '--littable.read_cache_bytes=16 KiB')
      if (budget !== 'off') await until('a small cache', async () => (await gauge('node_memory_cache_percent')) === 6)
      for (const block of ['0x1', '0x2', '0x3']) {
        const { result } = await rpc(node.url, 'eth_getBlockByNumber', [block, true])
        expect(result).toMatchObject({ number: block })
      }
      return await gauge('litt_chunk_cache_weight_bytes{cache="chunk_read"}')
    }
    expect(await cached('off')).toBeGreaterThan(200)
    expect(await node.stop()).toBe(0)
    expect(await cached('64 MiB')).toBe(0)
  })
})

describe('connections', () => {
  const CONNECTIONS = 10_000
  /** Files beside the connections. */
  const MORE_FILES = 500
  const MANY = path.join(ROOT, 'test/e2e/many-connections.mjs')

  /** The limit of open files that this machine lets a process have. */
  function filesMax(): number {
    const limits = fs.readFileSync('/proc/self/limits', 'utf8')
    const [, hard = '0'] = /^Max open files\s+\d+\s+(\d+|unlimited)/m.exec(limits) ?? []
    return hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
  }

  it('ten thousand are held, answered over, and closed', async (test) => {
    await start(`--evm.max_open_connections=${CONNECTIONS + 10}`)
    if (filesMax() < CONNECTIONS + MORE_FILES) {
      console.log(`skipped: this machine lets a process have ${filesMax()} open files, and ${CONNECTIONS + MORE_FILES} are needed`)
      return test.skip()
    }
    const raise = `ulimit -n ${CONNECTIONS + MORE_FILES}; exec "$0" "$@"`
    // Node raises its own limit to the hard one; so does the node itself.
    const client = spawn('sh', ['-c', raise, process.execPath, MANY, node.url, String(CONNECTIONS)], { stdio: ['pipe', 'pipe', 'inherit'] })
    const lines: string[] = []
    client.stdout.on('data', (data: Buffer) => lines.push(...data.toString().trim().split('\n')))
    const line = async (pattern: RegExp): Promise<string> => {
      for (;;) {
        const found = lines.find((text) => pattern.test(text))
        if (found !== undefined) return found
        if (client.exitCode !== null) throw new Error(`the client ended: ${lines.join('; ')}`)
        await sleep(50)
      }
    }
    expect(await line(/^open /)).toBe(`open ${CONNECTIONS}`)
    expect(fs.readdirSync(`/proc/${node.pid}/fd`).length).toBeGreaterThan(CONNECTIONS)
    // Beside them others are served, on this port and over WebSocket.
    const began = performance.now()
    expect((await rpc(node.url, 'eth_blockNumber')).result).toBe('0x4')
    const socket = new WebSocket(node.url.replace('http', 'ws'))
    await new Promise((resolve) => socket.once('open', resolve))
    socket.terminate()
    expect(performance.now() - began).toBeLessThan(5000)
    client.stdin.write('ask\n')
    expect(await line(/^answered /)).toBe(`answered ${CONNECTIONS}`)
    client.stdin.end()
    await until('the end of the connections', async () => fs.readdirSync(`/proc/${node.pid}/fd`).length < MORE_FILES)
  }, 120_000)
})
