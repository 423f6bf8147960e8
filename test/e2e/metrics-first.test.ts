// The first scrape of a node against the metric tables of the specification: every series exists,
// with its labels and buckets.
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { METHODS } from '../../ts/rpc/table.ts'
import { parseScrape, type Scrape } from '../unit/scrape.ts'
import { type RunningNode, startNode, tempHome } from './harness.ts'

type Values = Readonly<Record<string, readonly string[]>>
type Row = readonly [name: string, type: 'counter' | 'gauge' | 'histogram' | 'summary', labels: Values, buckets?: readonly number[]]

const REQUEST = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const SHORT = [1, 2.5, 5, 10, 25, 50, 100, 250, 500].map((n) => n / 100_000)
const LATENCY = [...SHORT, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const HOURS = [3600, 5400, 7200, 10_800, 14_400, 21_600, 28_800, 43_200]
const LONG = [0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 2700, ...HOURS]

const connection = ['http', 'websocket']
const success = ['true', 'false']
const db = ['account', 'code', 'storage', 'legacy', 'metadata']
const table = ['blocks', 'receipts', 'capsules', 'natives']
const cache = ['chunk_read', 'chunk_write']
const traces = METHODS.map((m) => m.name).filter((name) => name.startsWith('debug_trace') || name === 'debug_subscribe')
const redirected = ['eth_sendRawTransaction', 'eth_sendRawTransactionSync', 'eth_getTransactionCount']

/** A label without values: no series before the first request. */
const NONE: Values = { endpoint: [] }

const RPC: readonly Row[] = [
  ['evmrpc_request_latency_seconds', 'histogram', NONE, REQUEST],
  ['evmrpc_panics_total', 'counter', {}],
  ['evmrpc_websocket_connects_total', 'counter', {}],
  ['evmrpc_redirected_requests_total', 'counter', { endpoint: redirected, connection }],
  ['evmrpc_redirect_failures_total', 'counter', { reason: ['busy', 'in_doubt', 'timeout', 'unreachable', 'unusable'] }],
  ['evmrpc_historical_debug_trace_attempts_total', 'counter', { endpoint: traces, connection }],
  ['chain_rpc_request_latency_ms', 'summary', NONE],
  ['chain_rpc_request_counter', 'counter', NONE],
  ['chain_websocket_connect', 'counter', {}],
]

const FLATKV: readonly Row[] = [
  ['flatkv_open_latency', 'histogram', { read_only: success, success }, LONG],
  ['flatkv_apply_changesets_latency', 'histogram', { success }, LATENCY],
  ['flatkv_commit_latency', 'histogram', { success }, LATENCY],
  ['flatkv_commit_batch_latency', 'histogram', { db, success }, LATENCY],
  ['flatkv_batch_read_old_values_latency', 'histogram', { success }, LATENCY],
  ['flatkv_num_kv_pairs_total', 'counter', { db }],
  ['flatkv_pending_writes', 'gauge', { db }],
  ['flatkv_current_version', 'gauge', {}],
  ['flatkv_catchup_latency', 'histogram', { success }, LONG],
  ['flatkv_catchup_replay_num_blocks_total', 'counter', {}],
  ['flatkv_snapshot_write_latency', 'histogram', { success }, LONG],
  ['flatkv_snapshot_prune_latency', 'histogram', {}, LONG],
  ['flatkv_snapshot_prune_attempts_total', 'counter', { success }],
  ['flatkv_current_snapshot_height', 'gauge', {}],
  ['flatkv_rollback_latency', 'histogram', { success }, LONG],
  ['flatkv_import_latency', 'histogram', { success }, LONG],
  ['flatkv_import_kv_pairs_total', 'counter', { db }],
  ['flatkv_import_worker_flush_latency', 'histogram', { db, success }, LATENCY],
  ['flatkv_flush_latency', 'histogram', { db, success }, LATENCY],
]

const LITT: readonly Row[] = [
  ['litt_table_size_bytes', 'gauge', { table }],
  ['litt_table_key_count', 'gauge', { table }],
  ['litt_open_iterator_count', 'gauge', { table }],
  ['litt_bytes_read_total', 'counter', { table }],
  ['litt_keys_read_total', 'counter', { table }],
  ['litt_cache_hits_total', 'counter', { table }],
  ['litt_cache_misses_total', 'counter', { table }],
  ['litt_read_latency_seconds', 'histogram', { table }, LATENCY],
  ['litt_cache_miss_latency_seconds', 'histogram', { table }, LATENCY],
  ['litt_bytes_written_total', 'counter', { table }],
  ['litt_keys_written_total', 'counter', { table }],
  ['litt_write_latency_seconds', 'histogram', { table }, LATENCY],
  ['litt_flush_count_total', 'counter', { table }],
  ['litt_flush_latency_seconds', 'histogram', { table }, LATENCY],
  ['litt_segment_flush_latency_seconds', 'histogram', { table }, LATENCY],
  ['litt_keymap_flush_latency_seconds', 'histogram', { table }, LATENCY],
  ['litt_garbage_collection_latency_seconds', 'histogram', { table }, LATENCY],
  ['litt_chunk_cache_key_count', 'gauge', { cache }],
  ['litt_chunk_cache_weight_bytes', 'gauge', { cache }],
  ['litt_chunk_cache_keys_added_total', 'counter', { cache }],
  ['litt_chunk_cache_weight_added_bytes_total', 'counter', { cache }],
  ['litt_chunk_cache_eviction_latency_seconds', 'histogram', { cache }, LATENCY],
]

/** What opening a new home moves itself; everything else is zero until something is done. */
const MOVED_BY_OPENING =
  /^(flatkv_(open|catchup|apply_changesets|commit|commit_batch|batch_read_old_values|num_kv_pairs|flush)_|litt_(table|bytes|keys|write|read|cache_miss|flush|segment_flush|keymap_flush))/

const home = tempHome()
let node: RunningNode
let page: Scrape

beforeAll(async () => {
  node = await startNode(['dev', '--home', home, '--state-commit.flatkv.fsync=interval:200'])
  page = parseScrape(await (await fetch(node.metrics as string)).text(), 'prometheus')
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

/** Every combination of the values of labels, as the page writes them. */
const combined = (labels: Values): string[] =>
  Object.entries(labels).reduce<string[]>(
    (all, [key, values]) => all.flatMap((had) => values.map((value) => `${had}${had === '' ? '' : ','}${key}="${value}"`)),
    [''],
  )

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`)

/** Names and labels of all the samples of a row. */
function samplesOf([name, type, labels, buckets = []]: Row): string[] {
  return combined(labels).flatMap((each) => {
    if (type !== 'histogram') return [name + braced(each)]
    const bounds = [...buckets.map(String), '+Inf'].map((le) => `${name}_bucket{${each}${each === '' ? '' : ','}le="${le}"}`)
    return [...bounds, `${name}_sum${braced(each)}`, `${name}_count${braced(each)}`]
  })
}

describe('the first scrape', () => {
  it.each([...RPC, ...FLATKV, ...LITT].map((row) => [row[0], row] as const))('has %s', (name, row) => {
    const type = row[1]
    const family = page.get(name)
    expect(family?.type).toBe(type)
    expect([...(family?.samples.keys() ?? [])].sort()).toEqual(samplesOf(row).sort())
    if (!MOVED_BY_OPENING.test(name)) expect([...(family?.samples.values() ?? [])].filter((value) => value !== 0)).toEqual([])
  })

  it('reports the opening: one open, one log read, the genesis', () => {
    const value = (name: string, sample: string): number | undefined => page.get(name)?.samples.get(sample)
    expect(value('flatkv_open_latency', 'flatkv_open_latency_count{read_only="false",success="true"}')).toBe(1)
    expect(value('flatkv_open_latency', 'flatkv_open_latency_count{read_only="true",success="true"}')).toBe(0)
    expect(value('flatkv_catchup_latency', 'flatkv_catchup_latency_count{success="true"}')).toBe(1)
    expect(value('flatkv_commit_latency', 'flatkv_commit_latency_count{success="true"}')).toBe(1)
    expect(value('litt_keys_written_total', 'litt_keys_written_total{table="blocks"}')).toBe(2)
    const failed = [...page.values()]
      .flatMap(({ samples }) => [...samples])
      .filter(([sample, n]) => /success="false"/.test(sample) && n !== 0)
    expect(failed).toEqual([])
  })

  it('says that it is a development chain', () => {
    expect([...(page.get('node_mode')?.samples ?? [])]).toEqual([
      ['node_mode{mode="start"}', 0],
      ['node_mode{mode="dev"}', 1],
    ])
  })

  it('has nothing else but the metrics of the other lists', () => {
    const known = new Set([...RPC, ...FLATKV, ...LITT].map(([name]) => name))
    const isMore = (name: string): boolean =>
      /^((address_index|rocksdb|bake|consensus|cosmos_queries|engine|follow|js_tracer|node_memory|trace_cache|trace_capsule)_|node_(mode|parked_traces|event_loop_stall_seconds)$)/.test(
        name,
      )
    expect([...page.keys()].filter((name) => !known.has(name) && !isMore(name))).toEqual([])
  })
})
