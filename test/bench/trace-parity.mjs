// The trace namespace beside the tracers of debug_* that record the same, on one node and one
// generated chain, in interleaved pairs; searches by account through a long chain, and what the
// index of accounts costs a commit.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from './chain.mjs'
import { addedMiB, freePort, HEARTH, importChain, run, serveHearth, started } from './process.mjs'
import { ask, result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

const CHAIN = { blocks: 24, least: 200, most: 1400 }

/** Blocks of the long chain that searches go through; fewer for a quick look. */
const LONG_BLOCKS = Number(process.env.HEARTH_TEST_TRACE_BLOCKS ?? 1_000_000)

/** Blocks that one trace_filter searches. */
const FILTER_BLOCKS = Math.min(10_000, LONG_BLOCKS >> 1)

/**
 * Transactions of the account that is searched for, all over the long chain; as many again lie in
 * the blocks of trace_filter.
 */
const PLANTED = 100

/** Transactions of a page. */
const PAGE = 25

/** Blocks on top of the long chain: the index merges what lies below them. */
const ON_TOP = 600

/** How long that may take, in milliseconds. */
const MERGE_MS = 120_000

/** Imports a row of commits, with the index on and off. */
const IMPORTS = 5

/** The chain that these import. */
const COMMITS = { blocks: 120, least: 200, most: 400 }

/** Gas of the call whose vmTrace is measured: about three million instructions. */
const LONG_CALL_GAS = 12_000_000

/** Interleaved pairs a row. */
const PAIRS = 15

/** Warm-up requests before the pairs of a row, which are not measured. */
const WARM = 3

/**
 * One row: how long the first request takes for the second one. `atMost`: the ratio that is wanted.
 */
async function pair(url, name, [method, params], [peer, peerParams], atMost) {
  for (let i = 0; i < WARM; i++) {
    await ask(url, method, params)
    await ask(url, peer, peerParams)
  }
  const times = { own: [], peer: [] }
  for (let i = 0; i < PAIRS; i++) {
    const own = async () => times.own.push((await ask(url, method, params)).ms)
    const other = async () => times.peer.push((await ask(url, peer, peerParams)).ms)
    for (const run of i % 2 ? [other, own] : [own, other]) await run()
  }
  const ratios = times.own.map((ms, i) => ms / times.peer[i])
  const losing = median(ratios) > atMost ? '  LOSING' : ''
  return [name, spread(times.own), spread(times.peer), `${spread(ratios, 2)}, at most ${atMost}${losing}`]
}

/** A row of one request: how long it takes warm, and how long it may. */
async function alone(url, name, [method, params], atMost) {
  for (let i = 0; i < WARM; i++) await ask(url, method, params)
  const times = []
  for (let i = 0; i < PAIRS; i++) times.push((await ask(url, method, params)).ms)
  return [name, spread(times), '', `at most ${atMost} ms${median(times) > atMost ? '  LOSING' : ''}`]
}

/** JUMPDEST, PUSH1 0, JUMP: runs until its gas is gone. */
const LOOP = '0x5b600056'

/** What the vmTrace of a long call adds to the memory of the node. */
async function memoryRow(node, atMost) {
  const call = [{ data: LOOP, gas: `0x${LONG_CALL_GAS.toString(16)}` }, ['vmTrace'], 'latest']
  let bytes = 0
  let refusal = ''
  const added = await addedMiB(node.pid, async () => {
    try {
      bytes = (await ask(node.url, 'trace_call', call)).bytes
    } catch (e) {
      refusal = `refused: ${/"message":"([^"]*)"/.exec(e.message)?.[1] ?? e.message}`
    }
  })
  const losing = refusal !== '' || added > atMost ? '  LOSING' : ''
  const name = `vmTrace of ${LONG_CALL_GAS / 1e6} Mgas of short instructions, ${(bytes / 2 ** 20).toFixed(0)} MiB: memory (MiB)`
  return [name, added === undefined ? 'not known here' : added.toFixed(0), '', `${refusal} at most ${atMost} MiB${losing}`.trim()]
}

const hex = (n) => `0x${n.toString(16)}`

/** Calls the account in its first word of call data: CALL(gas, word, 0, 0, 0, 0, 0), POP, STOP. */
const ROUTER = { address: `0x${'c1'.repeat(20)}`, code: '0x600060006000600060006000355af15000' }

/** The account that is searched for. */
const RARE = `0x${'bb'.repeat(20)}`

/**
 * A development chain of many blocks, most of them empty: a contract calls the rare account in some
 * all over it, and in as many more among the last ones. Resolves to the first of these blocks.
 */
async function plant(url) {
  const call = (method, ...params) => result(url, method, params)
  const [from] = await call('eth_accounts')
  await call('anvil_setCode', ROUTER.address, ROUTER.code)
  const data = `0x${RARE.slice(2).padStart(64, '0')}`
  const spread = async (blocks) => {
    for (let n = 0; n < PLANTED; n++) {
      const before = Math.floor((blocks * (n + 1)) / PLANTED) - Math.floor((blocks * n) / PLANTED) - 1
      if (before > 0) await call('anvil_mine', hex(before))
      await call('eth_sendTransaction', { from, to: ROUTER.address, data, gas: hex(200_000) })
    }
  }
  await spread(LONG_BLOCKS - FILTER_BLOCKS - ON_TOP)
  const first = Number(await call('eth_blockNumber')) + 1
  await spread(FILTER_BLOCKS)
  await call('anvil_mine', hex(ON_TOP))
  return first
}

/** Waits until the newest pages are merged: until no block without the account is looked at. */
async function settle(url) {
  const nobody = `0x${'dd'.repeat(20)}`
  for (const until = Date.now() + MERGE_MS; Date.now() < until; await new Promise((resolve) => setTimeout(resolve, 200))) {
    if ((await ask(url, 'ots_searchTransactionsBefore', [nobody, 0, PAGE])).ms < 1000) return
  }
  throw new Error(`the address index was not merged in ${MERGE_MS} ms`)
}

/** Rows of searches through a long chain. */
async function searchRows() {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-search-'))
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  const node = await started(process.execPath, [HEARTH, 'dev', '--home', home, ...ports], port)
  try {
    const first = await plant(node.url)
    await settle(node.url)
    const filter = { fromBlock: hex(first), toBlock: hex(first + FILTER_BLOCKS - 1), toAddress: [RARE] }
    const traces = await result(node.url, 'trace_filter', [filter])
    const page = await result(node.url, 'ots_searchTransactionsBefore', [RARE, first, PAGE])
    if (traces.length !== PLANTED || page.txs.length !== PAGE)
      throw new Error(`${traces.length} traces and ${page.txs.length} transactions, not ${PLANTED} and ${PAGE}`)
    const search = ['ots_searchTransactionsBefore', [RARE, first, PAGE]]
    return [
      await alone(
        node.url,
        `trace_filter of one address over ${FILTER_BLOCKS} blocks, ${PLANTED} traces (ms)`,
        ['trace_filter', [filter]],
        1000,
      ),
      await alone(node.url, `ots_searchTransactionsBefore, ${PAGE} results out of ${LONG_BLOCKS} blocks (ms)`, search, 50),
    ]
  } finally {
    await node.stop()
    fs.rmSync(home, { recursive: true, force: true })
  }
}

/** How long imports take with the index for those without, in interleaved pairs. */
async function commitRow(atMost) {
  const { dir, blocks, transactions } = await generatedChain(COMMITS)
  const files = ['--genesis', path.join(dir, 'genesis.json'), path.join(dir, 'chain.rlp')]
  const times = { true: [], false: [] }
  const imported = (index) => {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-commit-'))
    const began = process.hrtime.bigint()
    run(process.execPath, [HEARTH, 'import', '--home', home, `--evm.address_index=${index}`, ...files])
    times[index].push(Number(process.hrtime.bigint() - began) / 1e6)
    fs.rmSync(home, { recursive: true, force: true })
  }
  for (let i = 0; i < IMPORTS; i++) for (const index of i % 2 ? [true, false] : [false, true]) imported(index)
  const ratios = times.true.map((ms, i) => ms / times.false[i])
  const losing = median(ratios) > atMost ? '  LOSING' : ''
  const name = `commit with the address index for without, ${blocks} blocks, ${transactions} transactions (ms)`
  return [name, spread(times.true, 0), spread(times.false, 0), `${spread(ratios, 3)}, at most ${atMost}${losing}`]
}

/** The rows of `npm run bench -- trace-parity`. */
export async function traceParityBench() {
  const chain = await generatedChain(CHAIN)
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-parity-'))
  importChain(home, chain)
  const node = await serveHearth(home)
  try {
    const tag = `0x${chain.blocks.toString(16)}`
    const block = await result(node.url, 'eth_getBlockByNumber', [tag, false])
    const size = `${block.transactions.length} transactions, ${(Number(block.gasUsed) / 1e6).toFixed(0)} Mgas`
    const replay = (...types) => ['trace_replayBlockTransactions', [tag, types]]
    const debug = (config) => ['debug_traceBlockByNumber', [tag, { timeout: '300s', ...config }]]
    const rows = [
      await pair(node.url, `replay trace for callTracer, ${size} (ms)`, replay('trace'), debug({ tracer: 'callTracer' }), 1.1),
      await pair(node.url, 'trace_block for flatCallTracer (ms)', ['trace_block', [tag]], debug({ tracer: 'flatCallTracer' }), 1.1),
      await pair(
        node.url,
        'replay stateDiff for prestateTracer diffMode (ms)',
        replay('stateDiff'),
        debug({ tracer: 'prestateTracer', tracerConfig: { diffMode: true } }),
        1.1,
      ),
      await pair(node.url, 'replay vmTrace for struct logs (ms)', replay('vmTrace'), debug({}), 2),
      await memoryRow(node, 64),
      ...(await searchRows()),
      await commitRow(1.02),
    ]
    table('trace-parity', ['row', 'trace_*', 'debug_*', 'ratio'], rows)
  } finally {
    await node.stop()
    fs.rmSync(home, { recursive: true, force: true })
  }
}
