// An overloaded node: long work waits its turn and is refused beyond bounds, cheap calls continue,
// memory is freed, clients that leave leave nothing behind, and thousands of connections are held.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { allBaked, BAKING, metricsOf, Sender, startDev, trace } from './bake-node.ts'
import { logLines, ROOT, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { doubled, sleep, until } from './waiting.ts'

const home = tempHome()
let hashes: string[]
beforeAll(async () => {
  const made = await startDev(home, ...BAKING)
  hashes = await new Sender(made).scene()
  await allBaked(made, hashes.length)
  expect(await made.stop()).toBe(0)
})
afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

let node: RunningNode
afterEach(async () => {
  expect(await node.stop()).toBe(0)
})
const start = async (...settings: string[]): Promise<void> => {
  // A trace keeps its thread while its client reads: that is what these tests take threads with.
  await startParking(0, ...settings)
}
const startParking = async (traces: number, ...settings: string[]): Promise<void> => {
  node = await startNode(['start', '--home', home, `--workers.parked_traces=${traces}`, ...settings])
}

/** JUMPDEST PUSH1 1 POP PUSH1 0 JUMP, until the gas is used up or the time is. */
const ADDRESS = '0x00000000000000000000000000000000000d00d5'
const loops = { [ADDRESS]: { code: '0x5b600150600056' } }
const looping = { to: ADDRESS, gas: '0x174876e800' }
const LOOP_GAS = '--evm.simulation_gas_limit=1000000000000'

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

/**
 * Sends requests over one WebSocket, which the node takes in order; resolves to the answers in the
 * order of arrival, by id.
 */
async function inOrder(from: string, ...requests: readonly (readonly [method: string, params: unknown[]])[]) {
  const socket = new WebSocket(node.ws, { localAddress: from })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const answers: { id: number; error?: { code: number; message: string } }[] = []
  socket.on('message', (data) => answers.push(JSON.parse(data.toString())))
  for (const [id, [method, params]] of requests.entries()) socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  return { answers, close: () => socket.terminate() }
}

/**
 * Takes a thread for traces until the returned function is called: the answer streams, and its
 * first bytes show that the trace runs.
 */
async function takeThread(from = '127.0.0.1'): Promise<() => void> {
  const config = { timeout: '10m', stateOverrides: loops }
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'debug_traceCall',
    params: [{ ...looping, gas: '0xe8d4a51000' }, 'latest', config],
  })
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, agent: false, localAddress: from }
    const request = http.request(node.url, options, (response) => {
      response.on('error', () => undefined)
      response.once('data', () => resolve(() => void request.destroy()))
      response.resume()
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** Parameters of a trace that runs for so many milliseconds. */
const running = (ms: number): unknown[] => [looping, 'latest', { tracer: 'callTracer', timeout: `${ms}ms`, stateOverrides: loops }]
/** A trace that runs for so many milliseconds. */
const runs = (ms: number, from?: string, leaveMs?: number) => ask('debug_traceCall', running(ms), from, leaveMs)
/** A call that runs until its own time is over. */
const calls = (from?: string, leaveMs?: number) => ask('eth_call', [looping, 'latest', loops], from, leaveMs)

describe('long work', () => {
  it('is refused if the queue is full, fairly between clients', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_trace_calls=1', '--workers.heavy_queue=2')
    const releaseThread = await takeThread()
    const three = Array.from({ length: 3 }, () => ['debug_traceCall', running(50)] as const)
    const { answers, close } = await inOrder('127.0.0.1', ...three)
    // The thread is still taken: who is refused was refused at once.
    await until('a refusal', () => answers.length > 0)
    const busy = { code: -32005, message: 'node is busy: the heavy queue is full (2 waiting)' }
    expect(answers).toMatchObject([{ id: 2, error: busy }])
    const other = runs(50, '127.0.0.2')
    await until('the newest of the client that has most to give way', () => answers.length > 1)
    expect(answers[1]).toMatchObject({ id: 1, error: { code: -32005 } })
    releaseThread()
    expect((await other).error?.message).toBe('execution timeout')
    await until('the oldest', () => answers.length === 3)
    expect(answers[2]).toMatchObject({ id: 0, error: { message: 'execution timeout' } })
    close()
  })

  it('waits up to workers.heavy_wait, kinds do not block others', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_trace_calls=1', '--evm.max_concurrent_simulation_calls=1', '--workers.heavy_wait=400ms')
    const releaseThread = await takeThread()
    const late = runs(50)
    // The thread is taken until both were answered.
    expect((await ask('eth_call', [{ to: ADDRESS }, 'latest'])).error).toBeUndefined()
    const { error, ms } = await late
    expect(error).toEqual({ code: -32005, message: 'node is busy: no thread of the heavy pool was free for 400 ms' })
    expect(ms).toBeGreaterThanOrEqual(390)
    releaseThread()
  })

  it('takes turns by client', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_trace_calls=1', '--workers.heavy_queue=4')
    const releaseThread = await takeThread('127.0.0.2')
    const five = Array.from({ length: 5 }, () => ['debug_traceCall', running(150)] as const)
    const { answers: greedy, close } = await inOrder('127.0.0.2', ...five)
    // The fifth finds the queue full: the four before it wait. The last of them makes room for
    // another client's request.
    await until('a full queue', () => greedy.length === 1)
    const before: number[] = []
    const modest = runs(150, '127.0.0.3').then(({ error }) => {
      before.push(greedy.filter((answer) => answer.error?.message === 'execution timeout').length)
      return error?.message
    })
    await until('room for the other client', () => greedy.length === 2)
    expect(greedy.map(({ id, error }) => [id, error?.code])).toEqual([
      [4, -32005],
      [3, -32005],
    ])
    releaseThread()
    expect(await modest).toBe('execution timeout')
    expect(before[0], 'traces of the greedy client before the other one').toBeLessThan(2)
    await until('the rest', () => greedy.length === 5)
    close()
  })

  it('of one address never has all threads for traces', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_trace_calls=2', '--workers.heavy_threads=4', '--workers.heavy_wait=10m')
    const releaseThread = await takeThread('127.0.0.2')
    const { answers: second, close } = await inOrder('127.0.0.2', ['debug_traceCall', running(50)])
    expect((await runs(50, '127.0.0.3')).error?.message).toBe('execution timeout')
    expect((await runs(50, '127.0.0.4')).error?.message).toBe('execution timeout')
    expect(second, 'the second trace waits while the first one runs').toEqual([])
    releaseThread()
    await until('the second trace', () => second.length > 0)
    expect(second[0]).toMatchObject({ id: 0, error: { message: 'execution timeout' } })
    close()
  })

  it('holds no thread while its client reads nothing', async () => {
    await startParking(1, LOOP_GAS, '--evm.max_concurrent_trace_calls=1', '--workers.heavy_wait=10m', '--evm.trace_stall_timeout=10m')
    const parked = async (): Promise<number | undefined> => (await metricsOf(node)).get('node_parked_traces')
    expect(await parked()).toBe(0)
    const config = { timeout: '10m', stateOverrides: loops }
    const request = { jsonrpc: '2.0', id: 1, method: 'debug_traceCall', params: [{ ...looping, gas: '0xe8d4a51000' }, 'latest', config] }
    const { hostname, port } = new URL(node.url)
    const socket = net.connect({ host: hostname, port: Number(port), localAddress: '127.0.0.2' }).pause()
    const body = JSON.stringify(request)
    const head = `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    socket.write(head + body)
    await until('a trace without a thread', async () => (await parked()) === 1)
    const answered = await trace(node.url, 'debug_traceCall', [{ to: ADDRESS }, 'latest', { tracer: 'callTracer' }])
    expect(answered.result).toMatchObject({ type: 'CALL', to: ADDRESS })
    // Its client's buffers may not have been full before: it may have run meanwhile, and waits
    // again.
    await until('the first one to wait still', async () => (await parked()) === 1)
    socket.destroy()
    await until('its end', async () => (await parked()) === 0)
  })

  it('of clients that leave ends, that which waits too', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_simulation_calls=1', '--evm.simulation_evm_timeout=10m')
    const gone = [calls('127.0.0.2', 500), calls('127.0.0.2', 500)]
    await sleep(300)
    // Without the end of the two this one would wait for the ten minutes that they may run.
    expect((await ask('eth_call', [{ to: ADDRESS }, 'latest'], '127.0.0.3')).error).toBeUndefined()
    await Promise.all(gone)
  })

  it('says how long it waited for its thread', async () => {
    await start(LOOP_GAS, '--evm.max_concurrent_trace_calls=1')
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_traceTransaction', params: [hashes[0], { tracer: 'callTracer' }] })
    // The wait begins when the node has read the request, which happens late on a busy machine: the
    // thread is held for longer until the wait shows.
    await doubled('a wait that the answer names', { from: 500, most: 60_000 }, async (heldMs) => {
      const releaseThread = await takeThread()
      const began = performance.now()
      const answer = fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      await sleep(heldMs)
      releaseThread()
      const waited = Number(/^wait;dur=([\d.]+)$/.exec((await answer).headers.get('server-timing') ?? '')?.[1] ?? 0)
      expect(waited).toBeLessThan(performance.now() - began)
      return waited > 100
    })
  })
})

describe('memory', () => {
  const memoryOf = (): number => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${node.pid}/status`, 'utf8'))?.[1]) * 1024
  const gauge = async (name: string): Promise<number | undefined> => (await metricsOf(node)).get(name)

  it('over its budget only refuses long work, after the caches', async () => {
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
    await until('the line about the heap', async () => node.log().includes("V8's heap may grow beyond the memory of the node"))
    const said = logLines(node)
      .filter(({ component }) => component === 'memory')
      .map(({ level }) => level)
    expect(said.indexOf('warn'), 'caches shrink first').toBeLessThan(said.indexOf('error'))
  })

  it('near its budget makes caches smaller and refuses nothing', async () => {
    await start('--memory.budget_bytes=off')
    await rpc(node.url, 'eth_call', [{ to: ADDRESS }, 'latest'])
    await sleep(1000)
    const usual = memoryOf()
    expect(await gauge('node_memory_cache_percent')).toBe(100)
    expect(await node.stop()).toBe(0)
    // Two runs differ by a few bytes: one of these budgets is a little more than what this run
    // takes.
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
    await start(`--evm.max_open_connections=${CONNECTIONS + 10}`, '--evm.max_share_per_client=1')
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
    expect((await rpc(node.url, 'eth_blockNumber')).result).toBe('0x4')
    const socket = new WebSocket(node.url.replace('http', 'ws'))
    await new Promise((resolve) => socket.once('open', resolve))
    socket.terminate()
    client.stdin.write('ask\n')
    expect(await line(/^answered /)).toBe(`answered ${CONNECTIONS}`)
    client.stdin.end()
    await until('the end of the connections', async () => fs.readdirSync(`/proc/${node.pid}/fd`).length < MORE_FILES)
  })
})
