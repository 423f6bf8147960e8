// The cost of metrics: recording a request, making a scrape page, and requests per second with and
// without them.
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { freePort, HEARTH, started } from './process.mjs'
import { median, spread, table } from './stats.mjs'

/** Requests recorded in a round. */
const RECORDED = 1_000_000

/** Values of the label `endpoint` in the rows about recording and scraping. */
const ENDPOINTS = 200

/** Rounds of a row. */
const ROUNDS = 9

/** Scrapes of a row, after as many that warm up. */
const SCRAPES = 60

/** Length of one measurement of requests a second, in milliseconds. */
const LOAD_MS = 2500

/** Requests under way at the same time. */
const CONNECTIONS = 16

/** Interleaved rounds of the three nodes. */
const PAIRS = 9

/** Bounds of the issue: nanoseconds a recording, milliseconds a scrape. */
const RECORD_NS_MAX = 500
const SCRAPE_MS_MAX = 5

const endpoints = Array.from({ length: ENDPOINTS }, (_, i) => `eth_method${i}`)
const verdict = (value, most) => `at most ${most}${value <= most ? '' : '  MISSED'}`

/**
 * Latencies that spread over all buckets, endpoints and outcomes out of order: the caches get no
 * help.
 */
function shuffled(outcomes) {
  let state = 1
  const next = (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const size = 1 << 14
  const calls = {
    size,
    endpoint: new Uint16Array(size),
    connection: new Uint8Array(size),
    outcome: new Uint8Array(size),
    ms: new Float64Array(size),
  }
  for (let i = 0; i < size; i++) {
    calls.endpoint[i] = next(ENDPOINTS)
    calls.connection[i] = next(2)
    // Most requests succeed.
    calls.outcome[i] = next(4) === 0 ? 1 + next(outcomes - 1) : 0
    calls.ms[i] = 10 ** (next(6000) / 1000 - 2)
  }
  return calls
}

/** Microseconds of processor time since `began`, of all threads of this process. */
function processorMicros(began) {
  const { user, system } = process.cpuUsage(began)
  return user + system
}

/** Nanoseconds for each of a million calls of `one`. */
function nanosEach(one) {
  const rounds = []
  for (let round = -1; round < ROUNDS; round++) {
    const began = process.cpuUsage()
    for (let i = 0; i < RECORDED; i++) one(i)
    if (round >= 0) rounds.push((processorMicros(began) * 1000) / RECORDED)
  }
  return rounds
}

async function recordRows() {
  const { Requests } = await import('../../dist/metrics/requests.js')
  const { OUTCOMES } = await import('../../dist/rpc/outcome.js')
  const { Sample } = await import('../../dist/rpc/meter.js')
  const calls = shuffled(OUTCOMES.length)
  const rows = []
  for (const legacy of [true, false]) {
    const requests = new Requests(legacy, 0, endpoints)
    const nanos = nanosEach((i) => {
      const at = i & (calls.size - 1)
      requests.record(calls.endpoint[at], calls.connection[at], calls.outcome[at], 0, calls.ms[at])
    })
    rows.push([`recording a request, ns${legacy ? '' : ', metrics.legacy off'}`, spread(nanos, 0), verdict(median(nanos), RECORD_NS_MAX)])
  }
  const requests = new Requests(true, performance.now(), endpoints)
  const meter = { now: () => performance.now(), request: requests.record.bind(requests), count: () => undefined }
  const names = ['eth_call', 'eth_getBalance', 'eth_nothing', 'debug_traceCall']
  /** @type {import('../../dist/rpc/meter.js').Sender} */
  const sender = { connection: 'http' }
  const whole = nanosEach((i) => new Sample(meter, names[i & 3], sender, meter.now()).succeed())
  rows.push([
    'the whole measurement, with its clock and its look-up of the method, ns',
    spread(whole, 0),
    verdict(median(whole), RECORD_NS_MAX),
  ])
  return rows
}

async function scrapeRows(home) {
  const { createMetrics } = await import('../../dist/metrics/index.js')
  const { metricsCatalog, openNode } = await import('../../dist/core/native.js')
  const { resolveSettings } = await import('../../dist/config/index.js')
  const { nodeConfig } = await import('../../dist/node/node-config.js')
  const core = await openNode(nodeConfig(home, 'dev', resolveSettings({}).settings))
  try {
    const source = { catalog: metricsCatalog(), snapshot: () => core.metricsSnapshot() }
    const metrics = createMetrics(source, { legacy: true, mode: 'start', version: '0', otlp: false, report: () => undefined, endpoints })
    for (let endpoint = 0; endpoint < ENDPOINTS; endpoint++) for (let i = 0; i < 50; i++) metrics.request(endpoint, 0, 0, 0, i)
    const rows = []
    for (const accept of ['text/plain', 'application/openmetrics-text']) {
      const times = []
      let body
      for (let i = -SCRAPES; i < SCRAPES; i++) {
        // Every endpoint changes between two pages: no text of the requests can be reused.
        for (let endpoint = 0; endpoint < ENDPOINTS; endpoint++) metrics.request(endpoint, 0, 0, 0, i + SCRAPES)
        const began = process.cpuUsage()
        body = (await metrics.scrape(accept)).body
        if (i >= 0) times.push(processorMicros(began) / 1000)
      }
      const samples = new TextDecoder()
        .decode(body)
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#')).length
      rows.push([
        `a page of ${samples} samples with ${ENDPOINTS} endpoints, ${accept}, ms`,
        spread(times, 2),
        verdict(median(times), SCRAPE_MS_MAX),
      ])
    }
    await metrics.shutdown()
    return rows
  } finally {
    await core.close()
  }
}

/** Requests a second that a node answers. */
async function load(url) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
  const options = { method: 'POST', agent, headers: { 'content-type': 'application/json', 'content-length': body.length } }
  const one = () =>
    new Promise((resolve, reject) => {
      const request = http.request(url, options, (response) => response.resume().once('end', resolve))
      request.once('error', reject).end(body)
    })
  let answered = 0
  const began = performance.now()
  const client = async () => {
    while (performance.now() - began < LOAD_MS) {
      await one()
      answered++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
  const seconds = (performance.now() - began) / 1000
  agent.destroy()
  return answered / seconds
}

async function loadRows(homes) {
  const nodes = []
  try {
    for (const [i, home] of homes.entries()) {
      const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
      const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`, `--metrics.enabled=${i === 0}`]
      nodes.push(await started(process.execPath, [HEARTH, 'dev', '--home', home, ...ports], port))
    }
    const rates = nodes.map(() => [])
    for (let round = -1; round < PAIRS; round++) {
      // Another one begins each time, so that none has the better half of a busy second.
      for (let k = 0; k < nodes.length; k++) {
        const i = (k + round + nodes.length) % nodes.length
        const rate = await load(nodes[i].url)
        if (round >= 0) rates[i].push(rate)
      }
    }
    const [on, off, again] = rates
    const ratios = (a, b) =>
      spread(
        a.map((rate, i) => rate / b[i]),
        3,
      )
    return [
      ['eth_chainId over HTTP, metrics on, requests/s', spread(on, 0), ''],
      ['the same, metrics off', spread(off, 0), ''],
      ['on over off, pair by pair', ratios(on, off), 'the noise below'],
      ['off over off (another node): the noise', ratios(again, off), ''],
    ]
  } finally {
    for (const node of nodes) await node.stop()
  }
}

/** The bench behind `npm run bench -- metrics`. */
export async function metricsBench() {
  const homes = [0, 1, 2].map(() => fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-metrics-')))
  try {
    const rows = [...(await recordRows()), ...(await scrapeRows(homes[0])), ...(await loadRows(homes))]
    table('metrics', ['row', 'measured', 'bound'], rows)
  } finally {
    for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
  }
}
