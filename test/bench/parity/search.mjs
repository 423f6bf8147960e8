// Searches by account through a long development chain, most of whose blocks are empty.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { freePort, HEARTH, started } from '../process.mjs'
import { result } from '../rpc.mjs'
import { alone } from './rows.mjs'

/** Blocks of the chain; fewer for a quick look. */
const BLOCKS = Number(process.env.HEARTH_TEST_TRACE_BLOCKS ?? 1_000_000)

/** Blocks that one trace_filter searches. */
const FILTER_BLOCKS = Math.min(10_000, BLOCKS >> 1)

/**
 * Transactions that call the account, all over the chain; as many again lie in the blocks of
 * trace_filter.
 */
const PLANTED = 100

/** Transactions of a page. */
const PAGE = 25

/** Blocks on top: the index merges what lies below them. */
const ON_TOP = 600

/** How long the index may take to merge the chain once it is made, in milliseconds. */
const MERGE_MS = 300_000

/**
 * Blocks at the head that may stay unmerged: a page of 256, 64 blocks over it, and twice those
 * after which a node looks for a page to merge.
 */
const UNMERGED_BLOCKS = 256 + 64 + 2 * 32

const hex = (n) => `0x${n.toString(16)}`

/** Calls the account in its first word of call data: CALL(gas, word, 0, 0, 0, 0, 0), POP, STOP. */
const ROUTER = { address: `0x${'c1'.repeat(20)}`, code: '0x600060006000600060006000355af15000' }

/** The account that is searched for. */
const RARE = `0x${'bb'.repeat(20)}`

/**
 * Makes the chain: a contract calls the account in some blocks all over it, and in as many more
 * among the last ones. Resolves to the first of these.
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
  await spread(BLOCKS - FILTER_BLOCKS - ON_TOP)
  const first = Number(await call('eth_blockNumber')) + 1
  await spread(FILTER_BLOCKS)
  await call('anvil_mine', hex(ON_TOP))
  return first
}

/** Waits until the address index has merged all pages that it will. */
async function settle(url, metrics) {
  const lag = async () => {
    const page = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
    const sample = /^address_index_lag_blocks (\d+)/m.exec(page)
    if (sample === null) throw new Error('the node has no metric address_index_lag_blocks')
    return Number(sample[1])
  }
  for (const until = Date.now() + MERGE_MS; Date.now() < until; await new Promise((resolve) => setTimeout(resolve, 1000))) {
    if ((await lag()) <= UNMERGED_BLOCKS) return
    // New blocks make the node look for a page to merge.
    await result(url, 'anvil_mine', [hex(32)])
  }
  throw new Error(`the address index was not merged in ${MERGE_MS} ms`)
}

/** Rows of searches. */
export async function searchRows() {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-search-'))
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  const node = await started(process.execPath, [HEARTH, 'dev', '--home', home, ...ports], port)
  try {
    const first = await plant(node.url)
    await settle(node.url, metrics)
    const filter = { fromBlock: hex(first), toBlock: hex(first + FILTER_BLOCKS - 1), toAddress: [RARE] }
    const traces = await result(node.url, 'trace_filter', [filter])
    const page = await result(node.url, 'ots_searchTransactionsBefore', [RARE, first, PAGE])
    if (traces.length !== PLANTED || page.txs.length !== PAGE)
      throw new Error(`${traces.length} traces and ${page.txs.length} transactions, not ${PLANTED} and ${PAGE}`)
    const filtered = `trace_filter of one address over ${FILTER_BLOCKS} blocks, ${PLANTED} traces (ms)`
    const searched = `ots_searchTransactionsBefore, ${PAGE} results out of ${BLOCKS} blocks (ms)`
    return [
      await alone(filtered, [node.url, 'trace_filter', [filter]], 1000),
      await alone(searched, [node.url, 'ots_searchTransactionsBefore', [RARE, first, PAGE]], 50),
    ]
  } finally {
    await node.stop()
    fs.rmSync(home, { recursive: true, force: true })
  }
}
