// Hostile scripts: the outcome of each, the delay until the next script runs, and the effect on
// honest clients.
import { spawn } from 'node:child_process'
import net from 'node:net'
import os from 'node:os'
import { loop, SCRIPTS, script } from './js-scripts.mjs'
import { loopParams } from './memory.mjs'
import { ask, result } from './rpc.mjs'
import { table } from './stats.mjs'

/** Hostile requests at once, and how long the honest ones beside them are sent, in milliseconds. */
const HOSTILE = 200
const BESIDE_MS = 4000
const EVERY_MS = 5

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
  const told = await attack
  const ended = performance.now()
  await ask(url, ...HONEST)
  const recovered = performance.now() - ended
  const { p99 } = await beside
  return [name, told, (ended - began).toFixed(0), recovered.toFixed(1), p99.toFixed(1)]
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

/** What the process of attacks does, by name, until `BESIDE_MS` are over. */
const CROWDS = {
  /** Sends all requests at once. */
  requests: (url, { bodies }) => Promise.all(bodies.map(({ method, params }) => ask(url, method, params).catch(() => undefined))),
  /** Sends batches of the largest body that is allowed, one after the other. */
  batches: async (url) => {
    const call = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]},'
    const body = `[${call.repeat(Math.floor(BODY_BYTES_MAX / call.length) - 2)}${call.slice(0, -1)}]`
    const until = performance.now() + BESIDE_MS
    while (performance.now() < until) {
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      await answer.arrayBuffer()
    }
  },
  /** Requests traces of many megabytes and never reads them. */
  readers: async (url) => {
    const { hostname, port } = new URL(url)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_traceCall', params: loopParams(READER_STEPS) })
    const head = `POST / HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    const sockets = Array.from({ length: READERS }, () => {
      const socket = net.connect({ host: hostname, port: Number(port) })
      socket.pause().on('error', () => undefined)
      socket.write(head + body)
      return socket
    })
    await pause(BESIDE_MS)
    for (const socket of sockets) socket.destroy()
  },
}

/** Tables of `npm run bench -- js`: what honest clients notice of many attacks, and each attack. */
export async function attackTables({ url }) {
  await ask(url, ...HONEST)
  const beside = (attack) => openLoop(url, Promise.all([pause(BESIDE_MS), attack && crowd(url, attack)]))
  const requests = (method, params) => ({
    kind: 'requests',
    bodies: Array.from({ length: HOSTILE }, (_, i) => ({ method, params: params(i) })),
  })
  const scripts = [0, 4, 3].map((at) => ATTACKS[at][1])
  const idle = await beside(undefined)
  const plain = await beside(requests('debug_noSuchMethod', () => []))
  const busy = await beside(requests('debug_traceCall', (i) => hostile(scripts[i % scripts.length])))
  const batches = await beside({ kind: 'batches' })
  const readers = await beside({ kind: 'readers' })
  const began = performance.now()
  await ask(url, ...HONEST)
  const after = performance.now() - began
  const bound = Math.max(2 * idle.p99, idle.p99 + 5)
  const cells = ({ p50, p99 }) => [p50.toFixed(1), `${p99.toFixed(1)}${p99 > bound ? '  LOSING' : ''}`]
  table(
    'js',
    ['eth_blockNumber, 200 a second (ms)', 'p50', 'p99'],
    [
      ['idle', ...cells(idle)],
      [`beside ${HOSTILE} requests at once that are refused, without scripts`, ...cells(plain)],
      [`beside ${HOSTILE} hostile scripts at once`, ...cells(busy)],
      [`beside batches of ${BODY_BYTES_MAX >> 20} MiB, one after the other`, ...cells(batches)],
      [`beside ${READERS} clients that do not read their traces`, ...cells(readers)],
      ['wanted', '', `<= ${bound.toFixed(1)}`],
      ['an honest script after them', after.toFixed(1), ''],
    ],
    'what honest clients notice',
  )
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
