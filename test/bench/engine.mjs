// The Engine API compared with go-ethereum's: the blocks of the generated chain as payloads, then
// fork choices, a reorg and built payloads.
import { spawnSync } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from './chain.mjs'
import { freePort, HEARTH, importChain, run, serveHearth, started } from './process.mjs'
import { result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

const CHAIN = { blocks: 40, least: 200, most: 1400 }

/** Times that both sides take the chain, in turn. */
const ROUNDS = 9

/**
 * Blocks that warm both sides up, before those that are measured. V8 optimizes the code that reads
 * requests at about the 7th and the 15th payload of a process, for several milliseconds each
 * (`node --trace-opt`); fork choices of these blocks have a row of their own.
 */
const WARM = 16

/**
 * Milliseconds between a payload and its fork choice in the row that says so: a consensus client
 * has work of its own in between.
 */
const PAUSE_MS = 50

/** Payloads that are built and fetched. */
const BUILDS = 20

/** What the issue of the Engine API wants: gas a second over go-ethereum's, and milliseconds. */
const WANTED = { speed: 1.5, forkchoiceMs: 5, payloadMs: 100 }

const ZERO = `0x${'0'.repeat(64)}`
const PERCENTILE = 0.99

const agent = new http.Agent({ keepAlive: true })

const base64 = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A client of the Engine API: the result of a call, and the milliseconds that it took. */
export function engineClient(url, secret) {
  const token = () => {
    const text = `${base64({ alg: 'HS256', typ: 'JWT' })}.${base64({ iat: Math.floor(Date.now() / 1000) })}`
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
  }
  return async (method, ...params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), authorization: `Bearer ${token()}` }
    const began = process.hrtime.bigint()
    const response = await new Promise((resolve, reject) => {
      http.request(url, { method: 'POST', headers, agent }, resolve).once('error', reject).end(body)
    })
    const text = Buffer.concat(await response.toArray()).toString()
    const ms = Number(process.hrtime.bigint() - began) / 1e6
    const answer = JSON.parse(text)
    if (answer.error) throw new Error(`${method}: ${answer.error.message} ${JSON.stringify(answer.error.data ?? '')}`)
    return { ms, result: answer.result }
  }
}

/** A folder with a secret. */
export function place(name) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), `hearth-bench-engine-${name}-`))
  const [secret, jwt] = [randomBytes(32), path.join(dir, 'jwt.hex')]
  fs.writeFileSync(jwt, secret.toString('hex'), { mode: 0o600 })
  return { dir, secret, jwt }
}

async function ours(genesis, imported, settings = []) {
  const { dir, secret, jwt } = place('hearth')
  const home = path.join(dir, 'home')
  if (imported) importChain(home, imported)
  else run(process.execPath, [HEARTH, 'init', '--home', home, '--genesis', genesis])
  const port = await freePort()
  const node = await serveHearth(home, ['--engine.enabled=true', `--engine.port=${port}`, `--engine.jwt_secret_file=${jwt}`, ...settings])
  return { ...node, dir, engine: engineClient(`http://127.0.0.1:${port}`, secret) }
}

async function theirs(genesis) {
  const { dir, secret, jwt } = place('geth')
  const data = path.join(dir, 'data')
  run('geth', ['--datadir', data, '--verbosity', '1', 'init', genesis])
  const [port, engine, p2p] = [await freePort(), await freePort(), await freePort()]
  const listen = ['--http', '--http.port', port, '--authrpc.port', engine, '--authrpc.jwtsecret', jwt, '--port', p2p]
  const alone = ['--nodiscover', '--maxpeers', '0', '--nat', 'none', '--ipcdisable', '--syncmode', 'full', '--verbosity', '1']
  const node = await started('geth', ['--datadir', data, ...listen, ...alone].map(String), port)
  return { ...node, dir, engine: engineClient(`http://127.0.0.1:${engine}`, secret) }
}

const discard = async (node) => {
  await node.stop()
  fs.rmSync(node.dir, { recursive: true, force: true })
}

export const move = (hash) => ({ headBlockHash: hash, safeBlockHash: ZERO, finalizedBlockHash: ZERO })

/**
 * The blocks of the chain as parameters of engine_newPayloadV4, read from a node that imported it.
 */
export async function payloadsOf(chain, genesis) {
  const node = await ours(genesis, chain)
  try {
    const { result: bodies } = await node.engine('engine_getPayloadBodiesByRangeV1', '0x1', `0x${chain.blocks.toString(16)}`)
    const payloads = []
    for (const [i, { transactions, withdrawals }] of bodies.entries()) {
      const block = await result(node.url, 'eth_getBlockByNumber', [`0x${(i + 1).toString(16)}`, false])
      const { parentHash, stateRoot, receiptsRoot, logsBloom, gasLimit, gasUsed, timestamp, extraData, baseFeePerGas } = block
      const { blobGasUsed, excessBlobGas } = block
      const names = { feeRecipient: block.miner, prevRandao: block.mixHash, blockNumber: block.number, blockHash: block.hash }
      const head = { parentHash, stateRoot, receiptsRoot, logsBloom, gasLimit, gasUsed, timestamp, extraData, baseFeePerGas }
      const payload = { ...head, ...names, blobGasUsed, excessBlobGas, transactions, withdrawals }
      payloads.push({ gas: Number(gasUsed), hash: block.hash, params: [payload, [], block.parentBeaconBlockRoot, []] })
    }
    return payloads
  } finally {
    await discard(node)
  }
}

/**
 * Executes the chain payload by payload. Returns the gas per second after the warm-up, and the
 * milliseconds of each fork choice after it (`choices`) and in it (`first`).
 */
async function take(node, payloads, genesisHash, pauseMs = 0) {
  await node.engine('engine_forkchoiceUpdatedV3', move(genesisHash), null)
  let [gas, ms] = [0, 0]
  const [choices, first] = [[], []]
  for (const [i, payload] of payloads.entries()) {
    const given = await node.engine('engine_newPayloadV4', ...payload.params)
    if (given.result.status !== 'VALID') throw new Error(`payload ${i + 1}: ${JSON.stringify(given.result)}`)
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    const chosen = await node.engine('engine_forkchoiceUpdatedV3', move(payload.hash), null)
    if (i < WARM) {
      first.push(chosen.ms)
      continue
    }
    gas += payload.gas
    ms += given.ms
    choices.push(chosen.ms)
  }
  return { speed: gas / 1e3 / ms, choices, first }
}

/** The value that so many of the others are not above. */
const percentile = (values) => [...values].sort((a, b) => a - b)[Math.ceil(values.length * PERCENTILE) - 1]

/** Builds payloads on the head: the milliseconds from the fork choice to the block. */
async function build(node, parent, after) {
  const times = []
  for (let i = 1; i <= BUILDS; i++) {
    const attributes = { timestamp: `0x${(after + i).toString(16)}`, prevRandao: ZERO, suggestedFeeRecipient: `0x${'0'.repeat(40)}` }
    const began = await node.engine('engine_forkchoiceUpdatedV3', move(parent), {
      ...attributes,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO,
    })
    const got = await node.engine('engine_getPayloadV5', began.result.payloadId)
    times.push(began.ms + got.ms)
  }
  return times
}

/** Waits for the writes that the former node left, so that no node syncs beside them. */
const settleDisk = () => spawnSync('sync')

const losing = (isLosing) => (isLosing ? '  LOSING' : '')

/** The rows of `npm run bench -- engine`. */
export async function engineBench() {
  if (spawnSync('geth', ['version']).status !== 0) {
    console.log('skipped: geth is not on the PATH, so nothing to compare with')
    return
  }
  const chain = await generatedChain(CHAIN)
  const genesis = path.join(chain.dir, 'genesis.json')
  const payloads = await payloadsOf(chain, genesis)
  const genesisHash = payloads[0].params[0].parentHash
  const none = () => ({ speed: [], choices: [], first: [], builds: [] })
  const sides = { ours: none(), theirs: none() }
  const last = payloads.at(-1)
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 ? ['theirs', 'ours'] : ['ours', 'theirs']
    for (const side of order) {
      settleDisk()
      const node = await (side === 'ours' ? ours(genesis) : theirs(genesis))
      try {
        const { speed, choices, first } = await take(node, payloads, genesisHash)
        sides[side].speed.push(speed)
        sides[side].choices.push(...choices)
        sides[side].first.push(...first)
        sides[side].builds.push(...(await build(node, last.hash, Number(last.params[0].timestamp))))
      } finally {
        await discard(node)
      }
    }
  }
  const others = {}
  /** @type {[name: string, settings: string[], pauseMs: number][]} */
  const kinds = [
    [`${PAUSE_MS} ms after its payload`, [], PAUSE_MS],
    ['with fsync=none', ['--state-commit.flatkv.fsync=none'], 0],
  ]
  for (const [name, settings, pauseMs] of kinds) {
    others[name] = []
    for (let round = 0; round < ROUNDS; round++) {
      settleDisk()
      const node = await ours(genesis, undefined, settings)
      try {
        others[name].push(...(await take(node, payloads, genesisHash, pauseMs)).choices)
      } finally {
        await discard(node)
      }
    }
  }
  const { ours: a, theirs: b } = sides
  const ratios = a.speed.map((speed, i) => speed / b.speed[i])
  const [choice, built] = [percentile(a.choices), percentile(a.builds)]
  const gas = payloads.slice(WARM).reduce((sum, { gas }) => sum + gas, 0)
  table(
    'engine',
    ['row', 'hearth', 'geth', 'wanted'],
    [
      [
        `engine_newPayloadV4, ${payloads.length - WARM} payloads, ${(gas / 1e6).toFixed(0)} Mgas (Mgas/s)`,
        spread(a.speed, 0),
        spread(b.speed, 0),
        `${spread(ratios, 2)} times, at least ${WANTED.speed}${losing(median(ratios) < WANTED.speed)}`,
      ],
      [
        'engine_forkchoiceUpdatedV3 to an executed block, p99 (ms)',
        choice.toFixed(1),
        percentile(b.choices).toFixed(1),
        `at most ${WANTED.forkchoiceMs}${losing(choice > WANTED.forkchoiceMs)}`,
      ],
      ['the same, median (ms)', spread(a.choices, 1), spread(b.choices, 1), ''],
      [
        `the same of the first ${WARM} blocks of a process, median and p99 (ms)`,
        ...[a, b].map(({ first }) => `${median(first).toFixed(1)}, ${percentile(first).toFixed(1)}`),
        '',
      ],
      ...Object.entries(others).map(([name, choices]) => {
        const p99 = percentile(choices)
        const mark = losing(p99 > WANTED.forkchoiceMs)
        return [
          `the same ${name}, median and p99 (ms)`,
          `${median(choices).toFixed(1)}, ${p99.toFixed(1)}`,
          '',
          `at most ${WANTED.forkchoiceMs}${mark}`,
        ]
      }),
      [
        'an empty payload from its fork choice to engine_getPayloadV5, p99 (ms)',
        built.toFixed(1),
        percentile(b.builds).toFixed(1),
        `at most ${WANTED.payloadMs}${losing(built > WANTED.payloadMs)}`,
      ],
    ],
  )
}
