// A process with callers that request traces one after the other, in the mix that ran a public node
// out of memory. Each caller has its own address, as clients of a public node do.
// `node callers.mjs`; its parent sends `{url, transactions, blocks, hostile, rate}` to begin and
// `stop` to end, and receives what was requested, what failed, and by how much deadlines were
// missed. With a rate, in requests a second of all callers together, each caller waits for its
// turn; without one it requests the next trace as soon as it has the last.
import http from 'node:http'

/** Callers at the same time. */
const CALLERS = 8

/**
 * Per thousand requests: the mix of the report, with trace_transaction and trace_block as
 * debug_trace* under flatCallTracer.
 *
 * @type {[share: number, kind: string][]}
 */
const MIX = [
  [610, 'traceTransaction'],
  [240, 'trace_transaction'],
  [70, 'trace_block'],
  [30, 'traceCall'],
  [25, 'deadline'],
  [25, 'eth_call'],
]

/** Timeouts of the requests that never end by themselves, in milliseconds. */
const DEADLINES = [50, 500]

/** A loop that ends with its gas alone. */
const LOOP = { address: '0x00000000000000000000000000000000000d00d5', code: '0x5b600150600056' }
const loopCall = (config) => [
  { to: LOOP.address, gas: '0x1dcd6500' },
  'latest',
  { ...config, stateOverrides: { [LOOP.address]: { code: LOOP.code } } },
]

/** Scripts that do not end, or take all the memory they can. */
const HOSTILE = ['for(;;){}', 'var a=[];for(;;)a.push(new Array(1000).fill(1))', 'var x=3n;for(;;)x*=x', 'var s="x";for(;;)s+=s'].map(
  (step) => `{step:function(log,db){${step}},fault:function(){},result:function(){return 0}}`,
)

/** A share of hostile requests where there are some: one of so many. */
const HOSTILE_ONE_OF = 4

/** A small random generator, so that two runs send the same requests. */
function random(seed) {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/**
 * One request.
 *
 * @returns {[method: string, params: unknown[], deadlineMs?: number, hostile?: boolean]}
 */
function next({ transactions, blocks, hostile }, below) {
  const transaction = () => transactions[below(transactions.length)]
  if (hostile && below(HOSTILE_ONE_OF) === 0) {
    const [timeout, tracer] = [DEADLINES[1], HOSTILE[below(HOSTILE.length)]]
    return ['debug_traceCall', loopCall({ tracer, timeout: `${timeout}ms` }), timeout, true]
  }
  let at = below(1000)
  const kind = MIX.find(([share]) => {
    at -= share
    return at < 0
  })[1]
  switch (kind) {
    case 'traceTransaction':
      return ['debug_traceTransaction', [transaction(), [{ tracer: 'callTracer' }, { tracer: 'prestateTracer' }, {}][below(3)]]]
    case 'trace_transaction':
      return ['debug_traceTransaction', [transaction(), { tracer: 'flatCallTracer' }]]
    case 'trace_block':
      return ['debug_traceBlockByNumber', [blocks[below(blocks.length)], { tracer: 'flatCallTracer' }]]
    case 'traceCall':
      return ['debug_traceCall', [{ to: LOOP.address, gas: '0x186a0' }, 'latest', { tracer: 'callTracer' }]]
    case 'deadline': {
      const timeout = DEADLINES[below(DEADLINES.length)]
      return ['debug_traceCall', loopCall({ tracer: 'callTracer', timeout: `${timeout}ms` }), timeout]
    }
    default:
      return ['eth_call', [{ to: LOOP.address, gas: '0x186a0' }, 'latest']]
  }
}

/**
 * Posts a request and discards its answer. Resolves to the milliseconds, those of them that it
 * waited for a thread, and the error.
 *
 * @returns {Promise<{ ms: number, waited: number, error?: string }>}
 */
function ask(url, agent, localAddress, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const began = performance.now()
  return new Promise((resolve) => {
    const failed = (e) => resolve({ ms: performance.now() - began, waited: 0, error: e.message })
    const request = http.request(url, { method: 'POST', headers, agent, localAddress }, (response) => {
      let first
      response.on('data', (data) => {
        first ??= data
      })
      response.once('error', failed)
      response.once('end', () => {
        const text = first?.subarray(0, 400).toString() ?? ''
        const error = /"error":\{"code":(-?\d+),"message":"([^"]*)/.exec(text)
        const waited = Number(/wait;dur=([\d.]+)/.exec(String(response.headers['server-timing'] ?? ''))?.[1] ?? 0)
        resolve({ ms: performance.now() - began, waited, error: error === null ? undefined : `${error[1]} ${error[2]}` })
      })
    })
    request.once('error', failed)
    request.end(body)
  })
}

/** The outcome of all requests. */
const fresh = () => ({ asked: 0, errors: {}, traces: [], deadlines: [] })

let totals = fresh()
let over = false

async function caller(number, work) {
  const below = random(number + 1)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const everyMs = work.rate === undefined ? 0 : (CALLERS * 1000) / work.rate
  const began = performance.now() + (everyMs * number) / CALLERS
  for (let turn = 0; !over; turn++) {
    const wait = began + turn * everyMs - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const [method, params, deadline, hostile] = next(work, below)
    const { ms, waited, error } = await ask(work.url, agent, `127.0.0.${number + 2}`, method, params)
    totals.asked++
    if (deadline === undefined) totals.traces.push(ms)
    // The timeout of a script includes the wait for a process; that of a built-in tracer is only
    // the time that it runs.
    else totals.deadlines.push({ deadline, ms: hostile ? ms : ms - waited, hostile: hostile === true })
    const ended = error !== undefined && (error.includes('timeout') || hostile)
    if (error !== undefined && !(deadline !== undefined && ended)) totals.errors[error] = (totals.errors[error] ?? 0) + 1
  }
  agent.destroy()
}

let running
process.on('message', async (message) => {
  if (message !== 'stop') {
    ;[totals, over] = [fresh(), false]
    running = Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number, message)))
    return
  }
  over = true
  await running
  process.send(totals)
})
process.on('disconnect', () => process.exit(0))
process.send('ready')
