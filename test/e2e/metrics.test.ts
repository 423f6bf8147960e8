// All work of a node: each instrument changes by exactly that work, and nothing changes while the
// node is idle.
import fs from 'node:fs'
import { createWalletClient, type Hex, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { moved, parseScrape, type Scrape, samplesOf } from '../unit/scrape.ts'
import { DEPLOY } from './contract.ts'
import { quiet, type RunningNode, startNode, tempHome } from './harness.ts'
import { sleep, until } from './waiting.ts'

const OPENMETRICS = 'application/openmetrics-text; version=1.0.0'
const LATENCY = 'evmrpc_request_latency_seconds'

/**
 * Longer than the interval of fsync, in milliseconds: an idle node has synced its writes, unless
 * the machine is busy.
 */
const SYNCED_MS = 1500

const home = tempHome()
const account = mnemonicToAccount('test test test test test test test test test test test junk')
let node: RunningNode

/** Starts the node on the home of this file. */
async function start(): Promise<void> {
  node = await startNode(['dev', '--home', home, '--state-commit.flatkv.fsync=interval:200'])
  await quiet(node)
}

beforeAll(async () => {
  await start()
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

const metricsUrl = (of: RunningNode = node): string => {
  if (of.metrics === undefined) throw new Error('no metrics')
  return of.metrics
}

async function scrape(): Promise<Scrape> {
  const response = await fetch(metricsUrl())
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  return parseScrape(await response.text(), 'prometheus')
}

/** Waits until everything that was written is synced: nothing on the page moves any more. */
const synced = (): Promise<void> =>
  until('the end of movements', async () => {
    const before = await scrape()
    await sleep(SYNCED_MS)
    return Object.keys(moved(before, await scrape())).length === 0
  })

/**
 * The changes that a piece of work makes, without times and quantiles, whose values are not known
 * beforehand.
 */
async function movedBy(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await scrape()
  await work()
  const changes = moved(before, await scrape())
  return Object.fromEntries(Object.entries(changes).filter(([sample]) => !/_sum[{ ]|_sum$|_bucket\{|quantile=/.test(sample)))
}

const post = async (body: unknown): Promise<string> => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })).text()
}
const call = (method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id: 1, method, params })

const labels = (endpoint: string, connection = 'http', errorClass = '', code = ''): string =>
  `${LATENCY}_count{endpoint="${endpoint}",connection="${connection}",success="${errorClass === ''}",error_class="${errorClass}",jsonrpc_code="${code}"}`

/** What requests move: their series, and the deprecated ones beside. */
function requests(
  ...each: readonly (readonly [endpoint: string, connection?: string, errorClass?: string, code?: string])[]
): Record<string, number> {
  const counts: Record<string, number> = {}
  const add = (sample: string): void => {
    counts[sample] = (counts[sample] ?? 0) + 1
  }
  for (const [endpoint, connection = 'http', errorClass = '', code = ''] of each) {
    add(labels(endpoint, connection, errorClass, code))
    const caller = `endpoint="${endpoint}",connection="${connection}"`
    add(`chain_rpc_request_latency_ms_count{${caller}}`)
    add(`chain_rpc_request_counter{${caller},success="${errorClass === ''}"}`)
  }
  return counts
}

/** Instruments of the RPC layer alone. */
const rpcOnly = (changes: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(changes).filter(([sample]) => /^(evmrpc|chain)_/.test(sample)))

describe('a node that is idle', () => {
  it('moves nothing, however often it is scraped', async () => {
    // What opening wrote is synced a moment later.
    await synced()
    const before = await scrape()
    await fetch(metricsUrl(), { headers: { accept: OPENMETRICS } })
    await sleep(SYNCED_MS)
    expect(moved(before, await scrape())).toEqual({})
  })
})

describe('requests', () => {
  const revert = call('eth_call', { data: '0x60006000fd' }, 'latest')

  it.each([
    ['a result', call('eth_chainId'), [['eth_chainId']]],
    ['a revert', revert, [['eth_call', 'http', 'execution_reverted', 'other']]],
    ['an unknown method', call('eth_nothing'), [['unknown', 'http', 'jsonrpc_error', 'spec']]],
    [
      'a disabled method',
      call('chain_getTransactionReceipt', '0x'),
      [['chain_getTransactionReceipt', 'http', 'chain_legacy_disabled', 'spec']],
    ],
    ['no JSON', '{', [['invalid', 'http', 'jsonrpc_error', 'spec']]],
    ['a missing parameter', call('eth_getBalance'), [['eth_getBalance', 'http', 'jsonrpc_error', 'spec']]],
    [
      'a trace of a block that is not there',
      call('debug_traceBlockByNumber', '0xffffff'),
      [['debug_traceBlockByNumber', 'http', 'jsonrpc_error', 'server']],
    ],
    ['a notification', { jsonrpc: '2.0', method: 'eth_blockNumber' }, [['eth_blockNumber']]],
    [
      'a batch',
      [call('eth_chainId'), call('eth_chainId'), revert, 7],
      [['eth_chainId'], ['eth_chainId'], ['eth_call', 'http', 'execution_reverted', 'other'], ['invalid', 'http', 'jsonrpc_error', 'spec']],
    ],
  ] as [string, unknown, [string, string?, string?, string?][]][])('%s moves its own series alone', async (_, body, samples) => {
    expect(rpcOnly(await movedBy(() => post(body)))).toEqual(requests(...samples))
  })

  it('over WebSocket move the connections too', async () => {
    const changes = await movedBy(async () => {
      for (const url of [node.ws, node.url.replace('http', 'ws')]) {
        const socket = new WebSocket(url)
        await new Promise((resolve) => socket.once('open', resolve))
        const answered = new Promise((resolve) => socket.once('message', resolve))
        socket.send(JSON.stringify(call('eth_chainId')))
        await answered
        socket.close()
      }
    })
    expect(rpcOnly(changes)).toEqual({
      ...requests(['eth_chainId', 'websocket'], ['eth_chainId', 'websocket']),
      evmrpc_websocket_connects_total: 2,
      chain_websocket_connect: 2,
    })
  })

  it('have times that are those of the clock', async () => {
    const before = await scrape()
    const began = performance.now()
    await post(call('eth_gasPrice'))
    const seconds = (performance.now() - began) / 1000
    const changes = moved(before, await scrape())
    const sum = changes[labels('eth_gasPrice').replace('_count', '_sum')] as number
    expect(sum).toBeGreaterThan(0)
    expect(sum).toBeLessThan(seconds)
    const legacy = changes['chain_rpc_request_latency_ms_sum{endpoint="eth_gasPrice",connection="http"}'] as number
    expect(legacy / 1000).toBeCloseTo(sum, 6)
  })
})

/** Instruments of one store alone. */
const storesOnly = (changes: Record<string, number>, store: 'flatkv' | 'litt'): Record<string, number> =>
  Object.fromEntries(Object.entries(changes).filter(([sample]) => sample.startsWith(`${store}_`)))

const TABLES = ['blocks', 'receipts', 'capsules']

/** What a table moves; names without the prefix. */
const tablesMoved = (table: string, each: Record<string, number | undefined>): Record<string, number | undefined> =>
  Object.fromEntries(Object.entries(each).map(([name, by]) => [`litt_${name}{table="${table}"}`, by]))

/** Flushes follow a clock: they have a test of their own. */
const withoutFlushes = (changes: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(changes).filter(([sample]) => !/^litt_(\w+_)?flush_/.test(sample)))

/** A signed transaction, `ahead` of the account's next one. */
async function sign(transaction: { to?: Hex; data?: Hex }, ahead = 0): Promise<Hex> {
  const wallet = createWalletClient({ account, chain: hardhat, transport: http(node.url) })
  const nonce = Number(JSON.parse(await post(call('eth_getTransactionCount', account.address))).result) + ahead
  return wallet.signTransaction({ gas: 1_000_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n, nonce, ...transaction })
}

describe('blocks', () => {
  it('move the state store; a trace of a revert is a success', async () => {
    const raw = [await sign({ data: DEPLOY }), await sign({ to: account.address }, 1), await sign({ data: '0x60006000fd' }, 2)]
    const height = Number(JSON.parse(await post(call('eth_blockNumber'))).result)
    const changes = await movedBy(async () => {
      for (const transaction of raw) expect(await post(call('eth_sendRawTransaction', transaction))).toContain('result')
    })
    expect(rpcOnly(changes)).toEqual(requests(...raw.map((): [string] => ['eth_sendRawTransaction'])))
    // Each block is one commit. Accounts: sender and fee recipient of each block, and the contract
    // of the first (the second pays itself, the third reverts). Storage: the parent's hash
    // (EIP-2935) and the block's time (EIP-4788), whose root is zero here.
    expect(storesOnly(changes, 'flatkv')).toEqual({
      'flatkv_apply_changesets_latency_count{success="true"}': 3,
      'flatkv_commit_latency_count{success="true"}': 3,
      'flatkv_batch_read_old_values_latency_count{success="true"}': 3,
      ...Object.fromEntries(
        Object.entries({ account: 3, code: 1, storage: 3, metadata: 3 }).map(([db, count]) => [
          `flatkv_commit_batch_latency_count{db="${db}",success="true"}`,
          count,
        ]),
      ),
      'flatkv_num_kv_pairs_total{db="account"}': 3 + 2 + 2,
      'flatkv_num_kv_pairs_total{db="code"}': 1,
      'flatkv_num_kv_pairs_total{db="storage"}': 3 * 2,
      flatkv_current_version: 3,
    })
    // A value has two keys: the hash of the block, and its number. New values are in memory:
    // nothing is read back.
    const tables = storesOnly(changes, 'litt')
    const bytes = (table: string) => tables[`litt_bytes_written_total{table="${table}"}`]
    const put = (table: string) => {
      const files = tables[`litt_table_size_bytes{table="${table}"}`]
      for (const size of [bytes(table), files]) expect([Number.isInteger(size), (size as number) > 0]).toEqual([true, true])
      const counts = { table_key_count: 6, keys_written_total: 6, write_latency_seconds_count: 3 }
      return tablesMoved(table, { ...counts, bytes_written_total: bytes(table), table_size_bytes: files })
    }
    expect(withoutFlushes(tables)).toEqual(Object.assign({}, ...TABLES.map(put)))
    const after = samplesOf(await scrape())
    expect(after.get('flatkv_current_version')).toBe(height + 3)
    expect([...after].filter(([sample, value]) => /^flatkv_.*success="false"/.test(sample) && value !== 0)).toEqual([])
    const traced = await movedBy(() => post(call('debug_traceBlockByNumber', `0x${(height + 3).toString(16)}`, { tracer: 'callTracer' })))
    expect(rpcOnly(traced)).toEqual(requests(['debug_traceBlockByNumber']))
  })

  it('are flushed by the clock of fsync, all tables alike', async () => {
    const names = ['flush_count_total', ...['flush', 'segment_flush', 'keymap_flush'].map((what) => `${what}_latency_seconds_count`)]
    const flushes = names.flatMap((name) => TABLES.map((table) => `litt_${name}{table="${table}"}`))
    const raw = await sign({ to: account.address })
    await synced()
    const before = samplesOf(await scrape())
    const changes = await movedBy(async () => {
      await post(call('eth_sendRawTransaction', raw))
      await until('every flush', async () => {
        const now = samplesOf(await scrape())
        return flushes.every((sample) => (now.get(sample) ?? 0) > (before.get(sample) ?? 0))
      })
      await synced()
    })
    const flushed = Object.fromEntries(Object.entries(changes).filter(([sample]) => flushes.includes(sample)))
    expect(flushed).toEqual(Object.fromEntries(flushes.map((sample) => [sample, 1])))
  })

  it('are read from their tables once, then out of memory', async () => {
    const hash = JSON.parse(await post(call('eth_sendRawTransaction', await sign({ to: account.address })))).result
    const read = () => post(call('eth_getTransactionReceipt', hash))
    const made = JSON.parse(await read()).result
    expect(withoutFlushes(storesOnly(await movedBy(read), 'litt'))).toEqual({})
    // Another process has not made it.
    expect(await node.stop()).toBe(0)
    await start()
    const first = await movedBy(async () => expect(JSON.parse(await read()).result).toEqual(made))
    const bytes = first['litt_bytes_read_total{table="receipts"}']
    expect(bytes).toBeGreaterThan(0)
    expect(withoutFlushes(storesOnly(first, 'litt'))).toEqual(
      tablesMoved('receipts', {
        bytes_read_total: bytes,
        keys_read_total: 1,
        cache_misses_total: 1,
        read_latency_seconds_count: 1,
        cache_miss_latency_seconds_count: 1,
      }),
    )
    expect(withoutFlushes(storesOnly(await movedBy(read), 'litt'))).toEqual({})
  })
})

describe('the page', () => {
  it('has the same samples in OpenMetrics', async () => {
    const response = await fetch(metricsUrl(), { headers: { accept: OPENMETRICS } })
    expect(response.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    const open = samplesOf(parseScrape(await response.text(), 'openmetrics'))
    const bounds = (sample: string): string => sample.replace(/le="(\d+)"/, 'le="$1.0"')
    const plain = [...samplesOf(await scrape()).keys()].map(bounds)
    expect([...open.keys()]).toEqual(plain)
  })

  it('is absent without metrics, its deprecated part if off', async () => {
    const own = tempHome()
    const off = await startNode(['dev', '--home', own, '--metrics.enabled=false'])
    expect(off.metrics).toBeUndefined()
    expect(await off.stop()).toBe(0)
    const without = await startNode(['dev', '--home', own, '--metrics.legacy=false'])
    const text = await (await fetch(metricsUrl(without))).text()
    expect(text).not.toMatch(/^chain_|^# TYPE chain_/m)
    expect(text).toContain('evmrpc_websocket_connects_total 0')
    expect(await without.stop()).toBe(0)
    fs.rmSync(own, { recursive: true, force: true })
  })
})
