// hearth status: the status of a home's node. It queries the node over the listeners that the
// node's file names.
import fs from 'node:fs'
import path from 'node:path'
import { type EngineView, engineView } from '../../consensus/rpc.ts'
import { bakeCommand, bakedCount, ROWS_INSTRUMENT, ROWS_TABLE } from '../baked.ts'
import type { Command, Terminal } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { HOME_FLAG, homeOf } from '../home.ts'
import { type LockHolder, lockHolder } from '../home-lock.ts'
import { findRunning, type RunningNode, runTokenOf } from '../running.ts'
import { CONSENSUS_BLOCKS, FOLLOWED_BLOCKS } from '../submission.ts'
import { bytesText, pairs } from './db/text.ts'

/** Longest time for each answer of the node, in milliseconds. */
const ASK_MS_MAX = 5000

/** Largest message that is read over WebSocket, in bytes. */
const MESSAGE_BYTES_MAX = 64 * 1024

/** Folders of data/ whose sizes are shown. */
const STORES = ['state', 'wal', 'ledger', 'trace_db'] as const

/** The report; null for what the node does not say. */
interface Status extends RunningNode {
  readonly home: string
  readonly ready: boolean | null
  readonly reasons: readonly string[]
  readonly height: number | null
  /** What CometBFT says of itself; null without it, and where it does not answer. */
  readonly consensus: EngineView | null
  /**
   * Blocks behind the followed node, blocks without traces, and blocks by how well they were
   * checked; null where it follows none, or its metrics do not say.
   */
  readonly followLagBlocks: number | null
  readonly followHoles: number | null
  readonly followedBlocks: Readonly<Record<'proven' | 'executed', number>> | null
  /**
   * Blocks that are baked, and blocks that can be; null if nothing is baked, or the node does not
   * report it.
   */
  readonly bakedBlocks: number | null
  readonly bakeableBlocks: number | null
  readonly bakeLagBlocks: number | null
  readonly bakeQueueDepth: number | null
  /**
   * The share of cacheable trace requests that the trace cache answered, 0 to 1; null if there were
   * none.
   */
  readonly traceCacheHitRate: number | null
  readonly memoryBytes: number | null
  /** Bytes of it that caches keep, by cache; null where the node says nothing of it. */
  readonly cacheBytes: Readonly<Record<string, number>> | null
  /**
   * Layers that confine processes of JavaScript tracers, and whether each is in force; null before
   * the first script, or without metrics.
   */
  readonly scriptConfinement: Readonly<Record<string, boolean>> | null
  /** Bytes of files by store. */
  readonly stores: Readonly<Record<string, number>>
}

/** An answer of the node; undefined where it gives none. */
async function ask(url: string, init: RequestInit = {}): Promise<string | undefined> {
  try {
    return await (await fetch(url, { ...init, signal: AbortSignal.timeout(ASK_MS_MAX) })).text()
  } catch {
    return undefined
  }
}

/** The answer to a message over WebSocket; undefined where there is none. */
async function askOverWebSocket(url: string, headers: Readonly<Record<string, string>>, message: string): Promise<string | undefined> {
  const { WebSocket } = await import('ws')
  const socket = new WebSocket(url, { headers, handshakeTimeout: ASK_MS_MAX, maxPayload: MESSAGE_BYTES_MAX })
  const timer = setTimeout(() => socket.terminate(), ASK_MS_MAX)
  try {
    return await new Promise((resolve) => {
      socket.on('open', () => socket.send(message))
      socket.on('message', (data) => resolve(String(data)))
      // The end of the connection follows an error.
      socket.on('error', () => undefined)
      socket.on('close', () => resolve(undefined))
    })
  } finally {
    clearTimeout(timer)
    socket.terminate()
  }
}

/** An answer as JSON; undefined if it is not JSON: an overloaded node refuses in plain text. */
function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The height, requested with the token of the node's run if it has one. */
async function heightOf(node: RunningNode, token: string | undefined): Promise<number | null> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
  const permit: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const headers = { 'content-type': 'application/json', ...permit }
  if (node.httpUrl === null && node.wsUrl === null) return null
  const text =
    node.httpUrl === null
      ? await askOverWebSocket(node.wsUrl as string, permit, body)
      : await ask(node.httpUrl, { method: 'POST', headers, body })
  const answer = parsed(text) as { result?: string } | undefined
  return answer?.result === undefined ? null : Number(answer.result)
}

async function readyOf(node: RunningNode): Promise<{ ready: boolean | null; reasons: readonly string[] }> {
  // Every listener answers probes: that of WebSocket too, over HTTP.
  const base = node.httpUrl ?? node.metricsUrl?.replace(/\/metrics$/, '') ?? node.wsUrl?.replace(/^ws:/, 'http:')
  const answer = base === undefined ? undefined : parsed(await ask(`${base}/ready`))
  if (answer === undefined) return { ready: null, reasons: ['the node does not answer'] }
  const { status, reasons } = answer as { status: string; reasons: string[] }
  return { ready: status === 'ready', reasons }
}

/**
 * Sums of the samples of a page, by name and, after it, the label `result`, `cache`, `table`,
 * `layer` or `verified`.
 */
function samples(page: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const line of page.split('\n')) {
    const found = /^([a-z_]+)(\{[^}]*\})? (\S+)/.exec(line)
    if (found === null) continue
    const [, name = '', labels = '', value = ''] = found
    const result = /(?:result|cache|table|layer|verified)="([^"]*)"/.exec(labels)?.[1]
    const key = result === undefined ? name : `${name} ${result}`
    sums.set(key, (sums.get(key) ?? 0) + Number(value))
  }
  return sums
}

/** What stands before a cache's name in its sample. */
const KEPT = 'node_memory_kept_bytes '

function cachesOf(values: ReadonlyMap<string, number> | undefined): Status['cacheBytes'] {
  const kept = [...(values ?? [])].filter(([name]) => name.startsWith(KEPT))
  return kept.length === 0 ? null : Object.fromEntries(kept.map(([name, bytes]) => [name.slice(KEPT.length), bytes]))
}

/** What stands before a layer's name in its sample. */
const CONFINEMENT = 'js_tracer_confinement '

function confinementOf(values: ReadonlyMap<string, number> | undefined): Status['scriptConfinement'] {
  const layers = [...(values ?? [])].filter(([name]) => name.startsWith(CONFINEMENT))
  // -1 as long as no process has reported.
  const isKnown = layers.length > 0 && layers.every(([, holds]) => holds >= 0)
  return isKnown ? Object.fromEntries(layers.map(([name, holds]) => [name.slice(CONFINEMENT.length), holds === 1])) : null
}

function confinementText(layers: Status['scriptConfinement']): string {
  if (layers === null) return 'unknown: no script has run yet'
  const named = (holds: boolean): string =>
    Object.entries(layers)
      .flatMap(([layer, is]) => (is === holds ? [layer] : []))
      .join(', ')
  const absent = named(false)
  return `${named(true) || 'none'}${absent === '' ? '' : `; not ${absent}`}`
}

/** Resident memory of a process; null where the system does not say. */
function memoryOf(pid: number): number | null {
  try {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))
    return found === null ? null : Number(found[1]) * 1024
  } catch {
    return null
  }
}

/** Bytes of the files under a folder; files that go away meanwhile count as nothing. */
function sizeOf(folder: string): number {
  let bytes = 0
  try {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name)
      bytes += entry.isDirectory() ? sizeOf(file) : (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0)
    }
  } catch {
    return bytes
  }
  return bytes
}

function followedOf(values: ReadonlyMap<string, number> | undefined): Status['followedBlocks'] {
  const count = (verified: string): number | undefined => values?.get(`follow_blocks_total ${verified}`)
  const [proven, executed] = [count('proven'), count('executed')]
  return proven === undefined || executed === undefined ? null : { proven, executed }
}

/** The report on the node that runs on a home. */
export async function statusOf(home: string, node: RunningNode): Promise<Status> {
  const { metricsUrl, consensusUrl } = node
  const [height, { ready, reasons }, page, consensus] = await Promise.all([
    heightOf(node, runTokenOf(home)),
    readyOf(node),
    metricsUrl === null ? undefined : ask(metricsUrl),
    consensusUrl == null ? null : engineView(consensusUrl).catch(() => null),
  ])
  const values = page === undefined ? undefined : samples(page)
  const requests = (result: string): number => values?.get(`trace_cache_requests_total ${result}`) ?? 0
  const hits = requests('hot') + requests('stored')
  const asked = hits + requests('miss') + requests('damaged')
  // Its metrics say it too, where this user may not read the token or there is no HTTP.
  const head = height ?? values?.get('flatkv_current_version') ?? null
  const rows = values?.get(`${ROWS_INSTRUMENT} ${ROWS_TABLE}`)
  const count = node.baking == null || rows === undefined || head === null ? undefined : bakedCount(node.baking, rows, head)
  return {
    home,
    ...node,
    ready,
    reasons,
    height: head,
    consensus,
    followLagBlocks: values?.get('follow_lag_blocks') ?? null,
    followHoles: values?.get('follow_holes') ?? null,
    followedBlocks: node.upstream == null ? null : followedOf(values),
    bakedBlocks: count?.baked ?? null,
    bakeableBlocks: count?.of ?? null,
    bakeLagBlocks: values?.get('bake_lag_blocks') ?? null,
    bakeQueueDepth: values?.get('bake_queue_depth') ?? null,
    traceCacheHitRate: asked === 0 ? null : hits / asked,
    memoryBytes: memoryOf(node.pid),
    cacheBytes: cachesOf(values),
    scriptConfinement: confinementOf(values),
    stores: Object.fromEntries(STORES.map((store) => [store, sizeOf(path.join(home, 'data', store))])),
  }
}

const DAY_S = 86_400

/** A time span as a reader takes it in: `2 d 03:04:05`. */
function span(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  const two = (n: number): string => String(n).padStart(2, '0')
  const clock = `${two(Math.floor((s % DAY_S) / 3600))}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`
  return s < DAY_S ? clock : `${Math.floor(s / DAY_S)} d ${clock}`
}

/** How many blocks are baked, and what bakes the rest. */
function bakedText({ home, baking, bakedBlocks, bakeableBlocks }: Status): string {
  if (baking == null) return 'nothing (evm.trace_bake_enabled is false)'
  if (bakedBlocks === null || bakeableBlocks === null) return 'unknown'
  const rest = bakedBlocks < bakeableBlocks ? `: \`${bakeCommand(home)}\` bakes the rest` : ''
  return `${bakedBlocks} of ${bakeableBlocks} blocks${rest}`
}

const cachesText = (caches: Status['cacheBytes']): string =>
  caches === null
    ? 'unknown'
    : Object.entries(caches)
        .flatMap(([cache, bytes]) => (bytes > 0 ? [`${cache} ${bytesText(bytes)}`] : []))
        .join(', ') || 'empty'

/** How CometBFT does; nothing for a node without it. */
function consensusText({ consensusUrl, consensus }: Status): (readonly [string, string])[] {
  if (consensusUrl == null) return []
  if (consensus === null) return [['consensus', `CometBFT gives no answer on ${consensusUrl}`]]
  const { height, catchingUp, votingPower, peers, deciding, round, highestPeer } = consensus
  const behind = catchingUp && highestPeer !== null ? `, ${Math.max(0, highestPeer - height)} blocks behind its peers` : ''
  return [
    [
      'consensus',
      catchingUp ? `catching up at height ${height}${behind}` : `height ${deciding ?? height + 1}, round ${round ?? 'unknown'}`,
    ],
    ['voting power', votingPower === 0 ? '0: this node does not vote' : String(votingPower)],
    ['peers', String(peers)],
    ['node RPC', consensusUrl],
  ]
}

/** How following does; nothing for a node that follows none. */
function followText({ upstream, followLagBlocks, followHoles, followedBlocks }: Status): (readonly [string, string])[] {
  if (upstream == null) return []
  const lag = followLagBlocks === null ? 'no upstream answers, or metrics are off' : `${followLagBlocks} blocks behind`
  const checked = followedBlocks === null ? [] : [`${followedBlocks.proven} proven and ${followedBlocks.executed} executed since the start`]
  const holes = followHoles === null || followHoles === 0 ? [] : [`${followHoles} without traces`]
  return [['follows', [upstream, lag, ...checked, ...holes].join(', ')]]
}

/** Where blocks come from. */
const BLOCKS: Readonly<Record<string, string>> = {
  start: 'none are made; new ones come from `hearth import`',
  dev: 'made by this node',
}

function blocksOf({ mode, consensusUrl, upstream }: Status): string {
  if (upstream != null) return FOLLOWED_BLOCKS
  return consensusUrl == null ? (BLOCKS[mode] ?? 'unknown') : CONSENSUS_BLOCKS
}

function text(status: Status): string {
  const unknown = 'unknown'
  const rate = status.traceCacheHitRate
  return pairs([
    ['home', status.home],
    ['process', `${status.pid}, ${status.version}, up ${span(Date.now() - status.startedAt)}`],
    ['ready', status.ready === true ? 'yes' : `no: ${status.reasons.join('; ')}`],
    ['height', status.height ?? unknown],
    ['blocks', blocksOf(status)],
    ...followText(status),
    ...consensusText(status),
    ['transactions', status.transactions ?? unknown],
    ['baked', bakedText(status)],
    ['bake lag', status.bakeLagBlocks === null ? unknown : `${status.bakeLagBlocks} blocks, ${status.bakeQueueDepth} waiting`],
    ['trace cache hits', rate === null ? 'no requests' : `${(rate * 100).toFixed(1)} %`],
    ['memory', status.memoryBytes === null ? unknown : bytesText(status.memoryBytes)],
    ['caches', cachesText(status.cacheBytes)],
    ['scripts confined', confinementText(status.scriptConfinement)],
    ...STORES.map((store) => [store, bytesText(status.stores[store] ?? 0)] as const),
    ['JSON-RPC', [status.httpUrl, status.wsUrl, status.debugUrl].filter((url) => url != null).join(' ') || 'off'],
    ['metrics', status.metricsUrl ?? 'off'],
  ])
}

/** Exit code where no node runs, or the one that does gives no answer. */
const NO_ANSWER = 1

/** Reports why there is no node to query. */
function sayAbsent(home: string, holder: LockHolder | undefined, json: boolean, terminal: Terminal): void {
  if (holder === undefined) {
    if (json) terminal.out(`${JSON.stringify({ home, pid: null })}\n`)
    else terminal.err(`no node runs on ${home}\n`)
    return
  }
  const { pid, host } = holder
  const what = 'and serves no requests: it is a node that is opening its stores, or a command such as `hearth import`'
  const reason = `process ${pid} on ${host} has ${home} ${what}`
  if (json) terminal.out(`${JSON.stringify({ home, pid, ready: null, reasons: [reason] })}\n`)
  else terminal.err(`${reason}\n`)
}

export const status: Command = {
  name: 'status',
  doc: COMMAND_DOCS.status,
  more: ['Exit code 1 if no node runs, or if it does not answer.'],
  flags: { ...HOME_FLAG, json: { doc: 'Print the report as JSON.' } },
  async run(parsed, terminal) {
    const home = homeOf(parsed)
    const holder = lockHolder(home)
    const node = holder && findRunning(home, holder.pid)
    if (node === undefined) {
      sayAbsent(home, holder, parsed.flags.has('json'), terminal)
      return NO_ANSWER
    }
    const report = await statusOf(home, node)
    terminal.out(parsed.flags.has('json') ? `${JSON.stringify(report, null, 2)}\n` : text(report))
    return report.ready === null ? NO_ANSWER : 0
  },
}
