// Hostile scripts: the outcome of each, the delay until the next script runs, and the effect on
// honest clients.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import { loop, SCRIPTS, script } from './js-scripts.mjs'
import { loopParams } from './memory.mjs'
import { ask, result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

/** Hostile requests at once, and how long the honest ones beside them are sent, in milliseconds. */
const HOSTILE = 200
const BESIDE_MS = 4000
const EVERY_MS = 5

/** Rounds: idle and each kind of attack, in each round in another order. */
const ROUNDS = 9

/** What is wanted of p99 beside an attack: at most so many times that of idle. */
const TIMES = 2

/** The addresses of attackers, and of a second honest client. */
const ATTACKER = '127.0.0.2'
const SECOND = '127.0.0.3'

/** The bomb: bundles of calls that each end with their gas alone, in one debug_traceCallMany. */
const BOMB = { bundles: 200, calls: 50, gas: '0x2faf080' }

/** What is wanted of the native traces of a second client beside the bomb: p99 in milliseconds. */
const TRACES_MS = 2000

/** Largest body that a node takes by default, in bytes. */
const BODY_BYTES_MAX = 5 * 1024 * 1024

/** Clients that do not read, and the steps of the trace that each requests: about 60 MB. */
const READERS = 40
const READER_STEPS = 400_000

/** Time limit of an attack, in milliseconds. */
const LIMIT_MS = 1000

const step = (body) => script('n:0', body, '0')
const answer = (body) => script('n:0', '', `(function(){${body}})()`)

/**
 * Attacks by name.
 *
 * @type {[name: string, script: string][]}
 */
const ATTACKS = [
  ['endless loop', step('for(;;){}')],
  ['endless promise', answer('(function f(){Promise.resolve().then(f)})();return 1')],
  ['catastrophic regular expression', step('/^(a+)+$/.test("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")')],
  ['BigInt squaring', step('var x=3n;for(;;)x*=x')],
  ['array that grows', step('var a=[];for(;;)a.push(new Array(1000).fill(1))')],
  ['one huge array', step('new Array(Math.pow(2,26)).fill(0)')],
  ['deep recursion', step('(function f(){return f()+1})()')],
  ['result 100,000 deep', answer('var a=[];for(var i=0;i<100000;i++)a=[a];return a')],
  ['1 GB of text', answer('var s="x";for(var i=0;i<30;i++)s+=s;return s')],
  ['way to the host by constructors', answer('return ({}).constructor.constructor("return process")()')],
  ['getter that throws', answer('return {get x(){throw "thrown"}}')],
  ['tampering with globals', answer('Array.prototype.push=JSON.stringify=Object.defineProperty=toHex=null;return "done"')],
  ['WebAssembly.Memory', step('new WebAssembly.Memory({initial:65536})')],
  ['Atomics.wait', step('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)')],
  ['8 GB buffer', step('new ArrayBuffer(8*1024*1024*1024)')],
]

/** What counts as an honest script's answer. */
const HONEST = loop(1000, SCRIPTS[0][1])

/**
 * Milliseconds of eth_blockNumber, sent at a fixed rate regardless of the answers, until `ends`.
 */
async function openLoop(url, ends) {
  const all = []
  let over = false
  ends.finally(() => {
    over = true
  })
  while (!over) {
    all.push(ask(url, 'eth_blockNumber', []).then((reply) => reply.ms))
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
  const sorted = (await Promise.all(all)).sort((a, b) => a - b)
  return { p50: sorted[sorted.length >> 1], p99: sorted[Math.floor(sorted.length * 0.99)] }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The parameters of a call under a hostile script. */
function hostile(tracer) {
  const [call, block, config] = loopParams(1000)
  return [call, block, { ...config, timeout: `${LIMIT_MS}ms`, tracer }]
}

/** Characters of an outcome. */
const WORDS_MAX = 80

/** One attack, honest requests beside it. */
async function attackRow(url, [name, tracer]) {
  const began = performance.now()
  const words = (text) => text.replace('debug_traceCall: ', '').slice(0, WORDS_MAX)
  const request = result(url, 'debug_traceCall', hostile(tracer))
  const attack = request.then(
    (value) => words(`answered ${JSON.stringify(value)}`),
    (error) => words(error.message),
  )
  const beside = openLoop(url, Promise.all([attack, pause(LIMIT_MS)]))
  const outcome = await attack
  const ended = performance.now()
  await ask(url, ...HONEST)
  const recovered = performance.now() - ended
  const { p99 } = await beside
  return [name, outcome, (ended - began).toFixed(0), recovered.toFixed(1), p99.toFixed(1)]
}

/**
 * Attacks a node from another process, which represents other machines: it has the lowest priority
 * here.
 */
function crowd(url, attack) {
  const child = spawn(process.execPath, [import.meta.filename, url], { stdio: ['pipe', 'ignore', 'inherit'] })
  os.setPriority(child.pid, 19)
  child.stdin.end(JSON.stringify(attack))
  return new Promise((resolve) => child.once('exit', resolve))
}

/** Posts a body from an address; resolves to the milliseconds until the end of the answer. */
function post(url, body, localAddress) {
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent: false, localAddress, headers: { 'content-type': 'application/json' } }
    const sent = http.request(url, options, (response) => {
      response
        .resume()
        .once('error', reject)
        .once('end', () => resolve(performance.now() - began))
    })
    sent.once('error', reject).end(body)
  })
}

const bodyOf = (method, params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

/**
 * What the process of attacks does, by name, until `BESIDE_MS` are over.
 *
 * @type {Record<string, (url: string, attack: Record<string, any>) => Promise<unknown>>}
 */
const CROWDS = {
  /** Does nothing: the process is there while idle is measured, too. */
  nothing: () => pause(BESIDE_MS),
  /** Sends all requests at once. */
  requests: (url, { bodies }) => Promise.all(bodies.map((body) => post(url, body, ATTACKER).catch(() => undefined))),
  /** Sends batches of the largest body that is allowed, one after the other. */
  batches: async (url) => {
    const call = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]},'
    const body = `[${call.repeat(Math.floor(BODY_BYTES_MAX / call.length) - 2)}${call.slice(0, -1)}]`
    for (const until = performance.now() + BESIDE_MS; performance.now() < until; ) await post(url, body, ATTACKER).catch(() => undefined)
  },
  /** Requests traces of many megabytes and never reads them. */
  readers: async (url) => {
    const { hostname, port } = new URL(url)
    const body = bodyOf('debug_traceCall', loopParams(READER_STEPS))
    const head = `POST / HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    const sockets = Array.from({ length: READERS }, () => {
      const socket = net.connect({ host: hostname, port: Number(port), localAddress: ATTACKER })
      socket.pause().on('error', () => undefined)
      socket.write(head + body)
      return socket
    })
    await pause(BESIDE_MS)
    for (const socket of sockets) socket.destroy()
  },
  /** Sends one debug_traceCallMany without end and waits for it. */
  bomb: async (url) => {
    const [call, block, config] = loopParams(1000)
    const bundles = Array(BOMB.bundles).fill({ transactions: Array(BOMB.calls).fill({ ...call, gas: BOMB.gas }) })
    await post(url, bodyOf('debug_traceCallMany', [bundles, { blockNumber: block }, { ...config, tracer: 'callTracer' }]), ATTACKER)
  },
}

/** Time that the main thread of a node has run, in milliseconds, whatever other processes do. */
function threadMs(pid) {
  const file = `/proc/${pid}/task/${pid}/schedstat`
  return fs.existsSync(file) ? Number(fs.readFileSync(file, 'utf8').split(' ')[0]) / 1e6 : Number.NaN
}

const manyOf = (method, params) => ({
  kind: 'requests',
  bodies: Array.from({ length: HOSTILE }, (_, i) => bodyOf(method, params(i))),
})

/** Attacks by the name of their row. */
function crowds() {
  const scripts = [0, 4, 3].map((at) => ATTACKS[at][1])
  return Object.entries({
    'idle, beside a process that does nothing': { kind: 'nothing' },
    [`beside ${HOSTILE} requests at once that are refused, without scripts`]: manyOf('debug_noSuchMethod', () => []),
    [`beside ${HOSTILE} hostile scripts at once`]: manyOf('debug_traceCall', (i) => hostile(scripts[i % scripts.length])),
    [`beside batches of ${BODY_BYTES_MAX >> 20} MiB, one after the other`]: { kind: 'batches' },
    [`beside ${READERS} clients that do not read their traces`]: { kind: 'readers' },
  })
}

/**
 * The table of cheap requests beside attacks: p99 of each over that of idle in the same round, for
 * idle itself differs from round to round by more than what is measured.
 */
async function besideTable({ url, pid }) {
  const all = crowds().map(([name, attack]) => ({ name, attack, p50: [], p99: [], thread: [] }))
  for (let round = 0; round < ROUNDS; round++) {
    const first = round % all.length
    for (const { attack, p50, p99, thread } of [...all.slice(first), ...all.slice(0, first)]) {
      const before = threadMs(pid)
      const took = await openLoop(url, Promise.all([pause(BESIDE_MS), crowd(url, attack)]))
      thread.push(threadMs(pid) - before)
      p50.push(took.p50)
      p99.push(took.p99)
      // What a round leaves behind is not part of the next one.
      await ask(url, ...HONEST)
    }
  }
  const idle = all[0]?.p99 ?? []
  const rows = all.map(({ name, p50, p99, thread }) => {
    const times = p99.map((ms, round) => ms / idle[round])
    return [
      name,
      median(p50).toFixed(1),
      spread(p99),
      `${spread(times, 2)}${median(times) > TIMES ? '  LOSING' : ''}`,
      median(thread).toFixed(0),
    ]
  })
  const began = performance.now()
  await ask(url, ...HONEST)
  rows.push(['wanted', '', '', `<= ${TIMES}`, ''])
  rows.push(['an honest script after them', (performance.now() - began).toFixed(1), '', '', ''])
  const heading = ['eth_blockNumber, 200 a second (ms)', 'p50', 'p99', 'p99 over idle, by rounds', 'main thread of the node']
  table('js', heading, rows, 'what honest clients notice')
}

/** The native traces of a second client beside a bomb of calls, one after the other. */
async function bombTable({ url }) {
  const [call, block, config] = loopParams(1000)
  const body = bodyOf('debug_traceCall', [call, block, { ...config, tracer: 'callTracer' }])
  const times = async (ends) => {
    const took = []
    let over = false
    ends.finally(() => {
      over = true
    })
    while (!over) took.push(await post(url, body, SECOND))
    return took.sort((a, b) => a - b)
  }
  const idle = await times(pause(BESIDE_MS))
  const beside = await times(crowd(url, { kind: 'bomb' }))
  const cells = (took) => [took.length, took[took.length >> 1]?.toFixed(1), took[Math.floor(took.length * 0.99)]?.toFixed(1)]
  const lost = (beside[Math.floor(beside.length * 0.99)] ?? Number.POSITIVE_INFINITY) > TRACES_MS ? '  LOSING' : ''
  const [count, p50, p99] = cells(beside)
  const rows = [
    ['idle', ...cells(idle)],
    [`beside one debug_traceCallMany of ${BOMB.bundles * BOMB.calls} calls without end`, count, p50, `${p99}${lost}`],
    ['wanted', '', '', `<= ${TRACES_MS}`],
  ]
  table('js', ['native traces of a second client (ms)', 'traces', 'p50', 'p99'], rows, 'what a second client notices of a bomb of calls')
}

/**
 * Tables of `npm run bench -- js`: what honest clients notice of many attacks, and each attack.
 *
 * @param {{ url: string, pid: number | undefined }} node
 */
export async function attackTables(node) {
  const { url } = node
  await ask(url, ...HONEST)
  await besideTable(node)
  await bombTable(node)
  const rows = []
  for (const attack of ATTACKS) rows.push(await attackRow(url, attack))
  const heading = ['attack', 'outcome', 'answered after (ms)', 'next script after (ms)', 'p99 of eth_blockNumber beside it (ms)']
  table('js', heading, rows, `attacks, each with a limit of ${LIMIT_MS} ms`)
}

if (process.argv[1] === import.meta.filename) {
  const parts = []
  for await (const part of process.stdin) parts.push(part)
  const attack = JSON.parse(Buffer.concat(parts).toString())
  await CROWDS[attack.kind](process.argv[2], attack)
}
