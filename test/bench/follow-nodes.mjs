// Followers as processes: catching up beside the rate at which the upstream serves witnesses, the
// time from a new head to its first trace, traces of blocks beside go-ethereum that is followed,
// and memory.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from './chain.mjs'
import { freePort, HEARTH, importChain, memoryMiB, run, serveHearth, started } from './process.mjs'
import { ask, result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

/** Blocks grow from the least to the most transactions. */
const CHAIN = { blocks: 40, least: 200, most: 1400 }

/** Times that followers catch up, and blocks of a development chain that are waited for. */
const ROUNDS = 3
const HEADS = 60

/** Requests for witnesses at the same time: as many as a follower has (`follow.at_once`). */
const AT_ONCE = 4

/** Longest time for a follower to reach its upstream, in milliseconds. */
const CAUGHT_UP_MS = 300_000

/** The goals: see the rows. */
const WANTED = { catchUp: 0.8, traces: 5, baked: 50, witnesses: 3, moreMiB: 300 }

const TRACE = { tracer: 'callTracer' }
const hex = (n) => `0x${n.toString(16)}`
const losing = (isLosing) => (isLosing ? '  LOSING' : '')
const now = () => Number(process.hrtime.bigint()) / 1e6
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** A follower of a chain from its first block on. */
async function follower(home, upstream, genesis, settings = []) {
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  const source = ['--upstream', upstream, '--genesis', genesis, '--from', '1']
  return await started(process.execPath, [HEARTH, 'follow', '--home', home, ...source, ...ports, ...settings], port)
}

/** Number of the newest block that a follower has; 0 before the first one. */
const headOf = (url) =>
  result(url, 'eth_getBlockByNumber', ['latest', false]).then(
    (block) => Number(block?.number ?? 0),
    () => 0,
  )

/** Waits until a follower has a block; the milliseconds of its first and of this one. */
async function reached(url, number) {
  let first
  for (const until = Date.now() + CAUGHT_UP_MS; Date.now() < until; await pause(5)) {
    const head = await headOf(url)
    first ??= head > 0 ? { head, at: now() } : undefined
    if (head >= number) return { first, last: { head, at: now() } }
  }
  throw new Error(`no block ${number} within ${CAUGHT_UP_MS} ms`)
}

/** Blocks a second of a run between two of its heads. */
const rateOf = ({ first, last }) => (1000 * (last.head - first.head)) / Math.max(1, last.at - first.at)

/** The rate at which an upstream serves witnesses, in blocks a second, and the largest one. */
async function served(url, blocks) {
  let [next, largest] = [1, 0]
  const lane = async () => {
    while (next <= blocks) {
      const { bytes } = await ask(url, 'debug_executionWitness', [hex(next++)])
      largest = Math.max(largest, bytes)
    }
  }
  const began = now()
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return { rate: (1000 * blocks) / (now() - began), largest }
}

/** Catching up with a Hearth upstream. */
async function catchUpRows(dir, chain, genesis) {
  const home = path.join(dir, 'upstream')
  importChain(home, chain)
  const upstream = await serveHearth(home, ['--evm.namespaces=eth,debug,net,web3'])
  const [rates, serving, peaks] = [[], [], []]
  let largest = 0
  try {
    await served(upstream.url, chain.blocks)
    for (let round = 0; round < ROUNDS; round++) {
      const witnesses = await served(upstream.url, chain.blocks)
      serving.push(witnesses.rate)
      largest = Math.max(largest, witnesses.largest)
      const node = await follower(path.join(dir, `follower-${round}`), upstream.url, genesis)
      try {
        rates.push(rateOf(await reached(node.url, chain.blocks)))
        peaks.push(memoryMiB(node.pid, 'VmHWM') ?? 0)
      } finally {
        await node.stop()
      }
    }
  } finally {
    await upstream.stop()
  }
  const ratio = median(rates.map((rate, i) => rate / serving[i]))
  const most = (WANTED.witnesses * largest) / 2 ** 20 + WANTED.moreMiB
  const peak = Math.max(...peaks)
  return [
    [
      'catching up, beside the witnesses that the upstream serves (blocks/s)',
      spread(rates),
      spread(serving),
      `${ratio.toFixed(2)} times, at least ${WANTED.catchUp}${losing(ratio < WANTED.catchUp)}`,
    ],
    [
      'most memory of it, largest witness (MiB)',
      peak.toFixed(0),
      (largest / 2 ** 20).toFixed(1),
      `at most ${most.toFixed(0)}: three witnesses and 300${losing(peak > most)}`,
    ],
  ]
}

/** From a head of a development chain to its first trace on the follower. */
async function headRow(dir) {
  const home = path.join(dir, 'dev')
  const [port, metrics] = [await freePort(), await freePort()]
  const dev = await started(
    process.execPath,
    [HEARTH, 'dev', '--home', home, `--evm.http_port=${port}`, '--evm.ws_port=0', `--metrics.port=${metrics}`],
    port,
  )
  const [seen, theirs] = [[], []]
  try {
    const [from, to] = await result(dev.url, 'eth_accounts', [])
    const send = async () => {
      const hash = await result(dev.url, 'eth_sendTransaction', [{ from, to, value: '0x1' }])
      return (await result(dev.url, 'eth_getTransactionReceipt', [hash])).blockHash
    }
    await send()
    const node = await follower(path.join(dir, 'heads'), dev.url, path.join(home, 'config/genesis.json'), ['--follow.poll_interval=50ms'])
    try {
      await reached(node.url, 1)
      for (let i = 0; i < HEADS; i++) {
        const hash = await send()
        const began = now()
        // By its own head: a block that the follower lacks is one of its upstream's answers.
        while ((await result(node.url, 'eth_getBlockByNumber', ['latest', false])).hash !== hash) await pause(1)
        await ask(node.url, 'debug_traceBlockByHash', [hash, TRACE])
        seen.push(now() - began)
        const [witness, trace] = [
          await ask(dev.url, 'debug_executionWitnessByHash', [hash]),
          await ask(dev.url, 'debug_traceBlockByHash', [hash, TRACE]),
        ]
        theirs.push(witness.ms + trace.ms)
      }
    } finally {
      await node.stop()
    }
  } finally {
    await dev.stop()
  }
  return [
    'a new head, polled every 50 ms, to its trace; the upstream’s witness and trace (ms)',
    spread(seen),
    spread(theirs),
    'half a poll above the other',
  ]
}

/** Traces of blocks through a follower of go-ethereum, beside its own. */
async function tracesRows(dir, chain, genesis) {
  if (spawnSync('geth', ['version']).status !== 0) {
    console.log('skipped: geth is not on the PATH, so traces have nothing to compare with')
    return []
  }
  const data = ['--datadir', path.join(dir, 'geth'), '--state.scheme', 'hash', '--gcmode', 'archive']
  run('geth', [...data.slice(0, 4), 'init', genesis])
  run('geth', [...data, '--syncmode', 'full', 'import', path.join(chain.dir, 'chain.rlp')])
  const [port, engine] = [await freePort(), await freePort()]
  const listen = ['--http', '--http.port', port, '--http.api', 'eth,debug,net,web3', '--authrpc.port', engine, '--port', 0]
  const alone = ['--nodiscover', '--maxpeers', 0, '--nat', 'none', '--ipcdisable', '--syncmode', 'full']
  const geth = await started('geth', [...data, ...listen, ...alone].map(String), port)
  const home = path.join(dir, 'of-geth')
  const blocks = Array.from({ length: chain.blocks }, (_, i) => hex(i + 1))
  /** Milliseconds of each block's trace on both sides, the sides in turn. */
  const times = async (url) => {
    const [own, other] = [[], []]
    for (const [i, block] of blocks.entries()) {
      const pair = [
        async () => own.push((await ask(url, 'debug_traceBlockByNumber', [block, TRACE])).ms),
        async () => other.push((await ask(geth.url, 'debug_traceBlockByNumber', [block, TRACE])).ms),
      ]
      for (const side of i % 2 ? pair.reverse() : pair) await side()
    }
    return { own, other, ratio: median(own.map((ms, i) => other[i] / ms)) }
  }
  try {
    const first = await follower(home, geth.url, genesis, ['--evm.trace_bake_enabled=false'])
    let plain
    try {
      await reached(first.url, chain.blocks)
      plain = await times(first.url)
    } finally {
      await first.stop()
    }
    run(process.execPath, [HEARTH, 'bake', '--home', home])
    const second = await follower(home, geth.url, genesis, ['--evm.trace_bake_enabled=true'])
    let baked
    try {
      await reached(second.url, chain.blocks)
      baked = await times(second.url)
    } finally {
      await second.stop()
    }
    const row = (name, { own, other, ratio }, least) => [
      name,
      spread(own),
      spread(other),
      `${ratio.toFixed(1)} times as fast, at least ${least}${losing(ratio < least)}`,
    ]
    return [
      row('callTracer of a block through a follower, go-ethereum’s own (ms)', plain, WANTED.traces),
      row('the same, baked (ms)', baked, WANTED.baked),
    ]
  } finally {
    await geth.stop()
  }
}

/** Prints the table of followers as processes. */
export async function followNodesBench() {
  const chain = await generatedChain(CHAIN)
  const genesis = path.join(chain.dir, 'genesis.json')
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-follow-nodes-'))
  try {
    const rows = [...(await catchUpRows(dir, chain, genesis)), await headRow(dir), ...(await tracesRows(dir, chain, genesis))]
    table('follow', ['row', 'follower', 'upstream', 'wanted'], rows, 'Followers beside their upstreams')
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
