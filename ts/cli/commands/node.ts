// What `start` and `dev` share: open the node, listen, serve until a signal, close in order.

import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Settings } from '../../config/index.ts'
import type { Engine } from '../../consensus/engine.ts'
import { STOP_MS_MAX } from '../../consensus/supervisor.ts'
import type { Mode, NodeConfig } from '../../core/config.ts'
import { openNode } from '../../core/native.ts'
import type { FetchOrigin } from '../../core/origin.ts'
import type { Core } from '../../core/port.ts'
import { readJson } from '../../core/results.ts'
import type { CosmosListeners } from '../../cosmos/index.ts'
import { LineBudget } from '../../log/bounded.ts'
import { type Log, type LogOptions, levelOf, openLog } from '../../log/index.ts'
import { explorerArtifacts, explorerSource } from '../../node/explorer.ts'
import { batchLimits, isUnderCometbft, nodeConfig, rpcContext } from '../../node/node-config.ts'
import { clientVersion } from '../../node/version.ts'
import { shownUrl } from '../../peers/post.ts'
import type { Dispatch } from '../../rpc/dispatch.ts'
import { SHOWN_CHARACTERS_MAX, type Watch } from '../../rpc/meter.ts'
import type { Network } from '../../rpc/network.ts'
import type { Redirects } from '../../rpc/redirect.ts'
import type { StartingDispatch } from '../../rpc/starting.ts'
import type { Submission } from '../../rpc/submission.ts'
import type { Server, ServerHooks } from '../../server/index.ts'
import { type Check, diskHasRoom, headIsYoung, isDriven, Readiness } from '../../server/readiness.ts'
import type { Parsed } from '../args.ts'
import { type Baking, bakeCommand, bakedCount, bakingOf, cacheRows } from '../baked.ts'
import { nodeSettings } from '../check-files.ts'
import type { Terminal } from '../command.ts'
import { eachStep } from '../each-step.ts'
import { homeOf, makeHome } from '../home.ts'
import { type LoopSignals, watchdogSignals } from '../loop-signals.ts'
import type { NodeMetrics } from '../metrics.ts'
import { nodeEnded } from '../node-versions.ts'
import { type RunningNode, removeRunning, writeRunning } from '../running.ts'
import { onStop } from '../signals.ts'
import { blocksText, transactionsText } from '../submission.ts'
import { heapLimitBytes } from '../v8-heap.ts'

/** Where a node is reached, with what is spoken there. */
export const urlsOf = ({ httpUrl, wsUrl, debugUrl, engineUrl }: Server): string[] => [
  ...(httpUrl === undefined ? [] : [`${httpUrl} (HTTP${wsUrl === undefined ? '' : ' and WebSocket'})`]),
  ...(wsUrl === undefined ? [] : [`${wsUrl} (WebSocket)`]),
  ...(debugUrl === undefined ? [] : [`${debugUrl} (debug methods)`]),
  ...(engineUrl === undefined ? [] : [`${engineUrl} (Engine API)`]),
]

/** Time between two looks for what the core has to say, in milliseconds. */
const CORE_LOG_EVERY_MS = 1000

/** Writes what the core has to say to the log, until the function that this gives is called. */
function joinLogs(core: Core, log: Log): () => void {
  const leave = log.follow(() => core.takeLog())
  const timer = setInterval(log.catchUp, CORE_LOG_EVERY_MS)
  return () => {
    clearInterval(timer)
    log.catchUp()
    leave()
  }
}

/** When the head was made, in seconds since 1970. */
async function headTime(core: Core): Promise<number> {
  const block = await readJson(core, 'getBlockByNumber', { block: 'latest', full: false })
  return Number(block?.timestamp)
}

/** How long ago the last fork choice came, in milliseconds; undefined where none came yet. */
async function forkchoiceAge(core: Core): Promise<number | undefined> {
  const age = await readJson(core, 'engineForkchoiceAge', undefined)
  return age === null ? undefined : Number(age)
}

/** What speaks against sending requests to an open node. */
export function readyChecks(core: Core, mode: Mode, home: string, settings: Settings, engine: Engine | undefined): Check[] {
  const maxAge = settings['evm.ready_max_head_age']
  const checks = [diskHasRoom(home, settings['state-commit.flatkv.min_free_bytes'])]
  if (maxAge !== 0) checks.push(headIsYoung(() => headTime(core), maxAge))
  const silence = settings['engine.ready_max_silence']
  if (engine !== undefined) checks.push(() => engine.reason())
  // A development chain has no consensus client, whatever a node.toml says that `start` reads too.
  if (mode === 'start' && settings['engine.enabled'] && silence !== 0) checks.push(isDriven(() => forkchoiceAge(core), silence))
  return checks
}

/** What this process says of itself in the home. */
const runningNode = (
  { httpUrl, wsUrl, debugUrl }: Server,
  metricsUrl: string | undefined,
  mode: Mode,
  settings: Settings,
  baking: Baking | undefined,
  consensusUrl: string | undefined,
  following: Following | undefined,
): RunningNode => ({
  pid: process.pid,
  mode,
  transactions: following?.transactions ?? transactionsText(mode, settings),
  version: clientVersion(),
  startedAt: Date.now(),
  httpUrl: httpUrl ?? null,
  wsUrl: wsUrl ?? null,
  debugUrl: debugUrl ?? null,
  metricsUrl: metricsUrl ?? null,
  baking: baking ?? null,
  consensusUrl: consensusUrl ?? null,
  upstream: following?.upstream ?? null,
})

/**
 * The form of the node's log: on a terminal, and with the console of a development chain, it is for
 * human readers.
 */
function logOptions(mode: Mode, settings: Settings, terminal: Terminal): LogOptions {
  const format = settings['log.format']
  return {
    level: settings['log.level'],
    levels: settings['log.levels'],
    format: format === 'auto' ? (mode === 'dev' || terminal.interactive ? 'text' : 'json') : format,
    write: terminal.err,
  }
}

/** The log of a node. */
export const nodeLog = (mode: Mode, settings: Settings, terminal: Terminal): Log => openLog(logOptions(mode, settings, terminal))

/** What the watchdog sees of this thread. Handlers of signals must be there. */
function startSignals(mode: Mode, settings: Settings, terminal: Terminal, log: Log): LoopSignals {
  const options = logOptions(mode, settings, terminal)
  const engineMs = isUnderCometbft(mode, settings) ? STOP_MS_MAX : 0
  const stopMs = settings['evm.shutdown_delay'] + settings['evm.shutdown_timeout'] + engineMs
  return watchdogSignals({ stopMs, format: options.format, level: levelOf(options, 'node') }, (why) =>
    log.component('node').warn('no watchdog: a stop waits for the main thread', { why }),
  )
}

/**
 * Writes requests that take long to the log and sends them as spans, and gives all requests to
 * `each` where it is there.
 */
function watchRequests(
  settings: Settings,
  log: Log,
  { begun }: LoopSignals,
  spans: NodeMetrics['spans'],
  each: Extras['onRequest'],
): Watch {
  const threshold = settings['evm.slow_request_threshold'] || Number.POSITIVE_INFINITY
  const rpc = log.component('rpc')
  const lines = new LineBudget((count) => rpc.warn('slow requests without a line of their own', { count }))
  const slow: Watch['slow'] = (request) => {
    spans?.record(request)
    if (!lines.take()) return
    const { method, connection, client, ms, bytes, success } = request
    rpc.warn('slow request', { method: method?.slice(0, SHOWN_CHARACTERS_MAX), connection, client, ms: Math.round(ms), bytes, success })
  }
  if (each === undefined) return { overMs: threshold, begun, slow }
  return {
    overMs: Number.NEGATIVE_INFINITY,
    begun,
    slow: (request) => {
      each(request.method?.slice(0, SHOWN_CHARACTERS_MAX), request.ms, request.success)
      if (request.ms > threshold) slow(request)
    },
  }
}

/** Logs where blocks come from, and how transactions are handled. */
function sayNoBlocks(settings: Settings, log: Log, terminal: Terminal, following: Following | undefined): void {
  const transactions = following?.transactions ?? transactionsText('start', settings)
  const note = following?.blocks ?? blocksText(settings)
  log.component('node').info(note, { transactions })
  terminal.out(`Note: ${note}. Transactions are ${transactions}.\n`)
}

/**
 * Logs how many blocks are not baked: those from before baking was enabled stay so until a command
 * bakes them.
 */
async function sayUnbaked(baking: Baking, core: Core, home: string, log: Log): Promise<void> {
  const height = Number(await readJson(core, 'blockNumber', undefined))
  const { baked, of } = bakedCount(baking, cacheRows(core), height)
  if (baked === of) return
  const [blocks, command] = [of - baked, bakeCommand(home)]
  log.component('bake').warn('blocks are not baked: `hearth bake` bakes older ones', { blocks, of, command })
}

/**
 * Time after the start of a development chain at which its log says what no answer waits for, in
 * milliseconds: loading the log's writer takes longer than the first answers.
 */
const NOTICE_MS = 1_000

/** Says that this Node gets no more fixes. */
function checkNode(log: Log): void {
  const ended = nodeEnded()
  if (ended === undefined) return
  const help = 'run Hearth on Node 24, or 22'
  log.component('node').warn('this version of Node gets no more security fixes', { node: process.versions.node, ended, help })
}

/** Says where V8 alone may take all the memory that the whole node has. */
function checkHeap(budgetBytes: number, log: Log): void {
  if (budgetBytes === 0) return
  const heapBytes = heapLimitBytes()
  if (heapBytes <= budgetBytes) return
  const help = 'start with NODE_OPTIONS=--max-old-space-size=MIB, a quarter of memory.budget_bytes or less'
  log.component('node').warn("V8's heap may grow beyond the memory of the node", { heapBytes, budgetBytes, help })
}

/** What serves the listener of debug methods, where there is one, and what serves the others. */
function dispatches(
  { makeDispatch, engine }: Serving,
  core: Core,
  settings: Settings,
  log: Log,
  signals: LoopSignals,
  { meter, spans }: NodeMetrics,
  onRequest: Extras['onRequest'],
  network: Network | undefined,
  redirects: Redirects | undefined,
  following: Following | undefined,
): { readonly all: Dispatch; readonly debug: Dispatch; readonly engine: Dispatch } {
  const watch = watchRequests(settings, log, signals, spans, onRequest)
  const node = shownUrl(settings['evm.forward_url'])
  const own = rpcContext(core, settings, (reason, failures) => log.component('rpc').warn('forwarding failed', { node, reason, failures }))
  const context = following === undefined ? own : { ...own, submission: following.submission }
  const make = (namespaces: readonly string[], only?: ReadonlySet<string>): Dispatch =>
    makeDispatch({ ...context, network, redirects, namespaces, only }, batchLimits(settings), log.report, meter, watch)
  const isDebugApart = settings['evm.debug_port'] !== 0
  return {
    all: make(isDebugApart ? context.namespaces.filter((name) => name !== 'debug') : context.namespaces),
    debug: make(isDebugApart ? ['debug'] : []),
    engine: make(settings['engine.enabled'] ? engine.ENGINE_NAMESPACES : [], engine.ENGINE_LISTENER_METHODS),
  }
}

/** What follows another node over an open core. */
export interface Following {
  /** In place of this node's own handling of transactions. */
  readonly submission: Submission
  /** What becomes of transactions, and where blocks come from, in a few words. */
  readonly transactions: string
  readonly blocks: string
  /** The followed node, without secret parts. */
  readonly upstream: string
  /** Why the node is not ready. */
  readonly check: Check
  /** Begins; the listeners answer already. */
  start(metrics: NodeMetrics, log: Log): void
  /** Resolves once nothing is under way; may be called again. */
  stop(): Promise<void>
}

/** What a command adds to serving a home. */
export interface Extras {
  /** In place of the home that the flags name. */
  readonly home?: string
  /** In place of those of the flags and the home. */
  readonly settings?: Settings
  /**
   * Runs before the stores are opened. Returns the configuration, the fetcher of a fork's remote
   * node, and the decorator of the core.
   */
  readonly prepare?: (config: NodeConfig) => Promise<Prepared>
  /**
   * Called where the stores do not open. Whether they are to be opened again: what was missing is
   * there now.
   */
  readonly complete?: (e: unknown) => Promise<boolean>
  /**
   * Called for each answered request: its method if it could be read, its duration in milliseconds.
   */
  readonly onRequest?: ((method: string | undefined, ms: number, success: boolean) => void) | undefined
  /** What follows another node, once `prepare`'s decorator has run. */
  readonly following?: () => Following | undefined
  /** Once nothing is served any more, before the stores are closed. */
  readonly beforeClose?: (core: Core) => Promise<void>
}

/** See `Extras.prepare`. */
export interface Prepared {
  readonly config: NodeConfig
  readonly ask?: FetchOrigin | undefined
  readonly wrap?: ((core: Core) => Promise<Core> | Core) | undefined
}

/** What serves requests: loaded while the core opens its stores, on threads of its own. */
type Serving = Awaited<ReturnType<typeof loadServing>>

async function loadServing() {
  const [server, dispatch, starting, metrics, engine] = await Promise.all([
    import('../../server/index.ts'),
    import('../../rpc/dispatch.ts'),
    import('../../rpc/starting.ts'),
    import('../metrics.ts'),
    import('../../rpc/methods/engine/index.ts'),
  ])
  return { ...server, ...dispatch, ...starting, ...metrics, engine }
}

/**
 * The dispatchers of requests while the stores are opened: of all listeners, of debug methods, of
 * the Engine API.
 */
type Starting = [StartingDispatch, StartingDispatch, StartingDispatch]

/** What the server needs for the Engine API; undefined where it is off. */
function engineHooks(home: string, settings: Settings, dispatch: Dispatch): ServerHooks['engine'] {
  if (!settings['engine.enabled']) return undefined
  const file = settings['engine.jwt_secret_file']
  return { dispatch, secretFile: file === 'auto' ? path.join(home, 'config', 'jwt.hex') : file }
}

async function openCore(config: NodeConfig, log: Log, extras: Extras): Promise<Core> {
  const { config: made, ask, wrap }: Prepared = (await extras.prepare?.(config)) ?? { config }
  if (made.scripts && 'unavailable' in made.scripts) log.component('node').warn(made.scripts.unavailable)
  const open = (): Promise<Core> => openNode(made, ask)
  const core = await open().catch(async (e: unknown) => {
    if ((await extras.complete?.(e)) !== true) throw e
    return await open()
  })
  try {
    return (await wrap?.(core)) ?? core
  } catch (e) {
    await core.close()
    throw e
  }
}

/** A home that is to be served, and what was made before anything is opened. */
interface Served {
  readonly mode: Mode
  readonly home: string
  readonly settings: Settings
  readonly terminal: Terminal
  readonly extras: Extras
  readonly log: Log
  readonly readiness: Readiness
  /** Resolves with a stop signal. */
  readonly stopped: Promise<void>
  readonly signals: LoopSignals
  readonly config: NodeConfig
  /** CometBFT beside the node; undefined where it is not under it. */
  readonly cometbft: Engine | undefined
  readonly consensus: Consensus | undefined
  /** What the command prints once the node serves. */
  readonly ready: (server: Server, core: Core) => Promise<string>
}

type Consensus = typeof import('../consensus/engine.ts')

/** What serves requests once it is loaded. */
interface Listening {
  readonly serving: Serving
  readonly metrics: Awaited<ReturnType<Serving['startMetrics']>>
  readonly starting: Starting
  readonly server: Server
  readonly runToken: string | undefined
}

/**
 * Serves a home until a stop signal; resolves to the exit code. The listeners of `start` are open
 * before the stores are.
 */
export async function serve(
  mode: Mode,
  parsed: Parsed,
  terminal: Terminal,
  ready: (server: Server, core: Core) => Promise<string>,
  extras: Extras = {},
): Promise<number> {
  const home = extras.home ?? homeOf(parsed)
  const settings = extras.settings ?? nodeSettings(parsed, home, terminal, mode === 'dev').settings
  const log = nodeLog(mode, settings, terminal)
  const readiness = new Readiness()
  const stopped = new Promise<void>((resolve) =>
    onStop((signal) => {
      readiness.drain()
      log.component('node').info('stopping', { signal })
      resolve()
    }),
  )
  const signals = startSignals(mode, settings, terminal, log)
  if (mode === 'dev') makeHome(home)
  // Before anything is opened: what it needs may be missing.
  const consensus = isUnderCometbft(mode, settings) ? await import('../consensus/engine.ts') : undefined
  const cometbft = consensus?.openEngine(home, settings)
  const config = {
    ...nodeConfig(home, mode, settings),
    ...(cometbft && consensus ? { consensus: consensus.consensusConfig(cometbft, settings) } : {}),
  }
  await serveHome({ mode, home, settings, terminal, extras, log, readiness, stopped, signals, config, cometbft, consensus, ready })
  return 0
}

/** Opens the page of metrics, the listeners and the stores, in this order, and serves. */
async function serveHome(served: Served): Promise<void> {
  const { mode, settings, config, log, extras, readiness, cometbft } = served
  // The stores of a development chain are small, so they are opened before the listeners; that is
  // wasted if those fail.
  const early = mode === 'dev' ? openCore(config, log, extras) : undefined
  early?.catch(() => undefined)
  const closeEarly = async (): Promise<void> => (await early?.catch(() => undefined))?.close()
  try {
    const serving = await loadServing()
    const limits = batchLimits(settings)
    const starting = [1, 2, 3].map(() => new serving.StartingDispatch(limits)) as Starting
    let open: Core | undefined
    const metrics = await serving.startMetrics(() => open, mode, settings, readiness, log.report)
    try {
      const runToken = serving.asksForTokens(settings) ? serving.newRunToken() : undefined
      const hooks = serverHooks(served, starting, () => open, {
        onConnect: () => metrics.meter.count('websocketConnects'),
        metricsUrl: metrics.url,
        runToken,
      })
      const server = await serving.startServer(settings, starting[0].dispatch, hooks)
      try {
        const core = await openServed(served, early)
        open = core
        await serveCore(served, { serving, metrics, starting, server, runToken }, core)
      } finally {
        await server.stop()
      }
    } finally {
      await metrics.stop()
    }
  } finally {
    await closeEarly()
    // Of a start that failed: the folder of a socket is made before anything is opened.
    cometbft?.remove()
  }
}

/** What the listeners need to know; `open` gives the core once it is open. */
function serverHooks(
  { mode, home, settings, log, readiness }: Served,
  [, debug, engine]: Starting,
  open: () => Core | undefined,
  given: Pick<ServerHooks, 'onConnect' | 'metricsUrl' | 'runToken'>,
): ServerHooks {
  return {
    ...given,
    report: log.report,
    readiness,
    debug: debug.dispatch,
    engine: mode === 'start' ? engineHooks(home, settings, engine.dispatch) : undefined,
    explorer: explorerSource(mode, settings, open),
    artifacts: explorerArtifacts(settings, open),
  }
}

/** The core of a home, once it is open. Ends the process if it is stopped before there is one. */
async function openServed({ config, log, extras, cometbft, consensus, stopped }: Served, early: Promise<Core> | undefined): Promise<Core> {
  const opening = (): Promise<Core> => early ?? openCore(config, log, extras)
  const core = cometbft?.bringsState && consensus ? await consensus.openWithState(cometbft, opening, stopped, log) : await opening()
  if (core !== undefined) return core
  // The home has no block so far; the next start resumes or drops a partly restored state.
  await cometbft?.stop()
  cometbft?.remove()
  log.component('node').info('stopped before there was a state')
  return process.exit(0)
}

/** Serves a core until a stop signal, then closes it. */
async function serveCore(served: Served, listening: Listening, core: Core): Promise<void> {
  const { home, settings, log, signals, extras, cometbft, stopped } = served
  const noMoreOfCore = joinLogs(core, log)
  let cosmos: CosmosListeners | undefined
  try {
    const following = extras.following?.()
    becomeReady(served, listening, core, following)
    following?.start(listening.metrics, log)
    const baking = await bakingOf(core, settings)
    cosmos = await startCometbft(served, listening, core)
    await announce(served, listening, core, baking, cosmos, following)
    await stopped
    await setTimeout(settings['evm.shutdown_delay'])
    await Promise.all([listening.server.stop(), cosmos?.stop(), cometbft?.stop()])
    signals.closing()
    await Promise.all([following?.stop(), extras.beforeClose?.(core)])
    log.component('node').info('every answer under way has ended; closing the stores')
  } finally {
    // A disk that is full or read-only fails some of them; the stores are closed all the same.
    const steps = [
      () => removeRunning(home, process.pid),
      () => cosmos?.stop(),
      // Its application is this core: it ends first, also where the start failed.
      () => cometbft?.stop(),
      () => extras.following?.()?.stop(),
      () => core.close(),
      () => cometbft?.remove(),
      () => signals.closed(),
      noMoreOfCore,
    ]
    await eachStep(steps, log.report)
    log.component('node').info('closed')
  }
}

/** Gives requests to the core from now on. */
function becomeReady(
  { mode, home, settings, log, signals, extras, readiness, cometbft, consensus }: Served,
  listening: Listening,
  core: Core,
  following: Following | undefined,
): void {
  const { serving, metrics, starting } = listening
  const { all, debug, engine } = dispatches(
    serving,
    core,
    settings,
    log,
    signals,
    metrics,
    extras.onRequest,
    cometbft && consensus?.networkOf(cometbft),
    cometbft && consensus?.redirectsOf(cometbft, settings, log),
    following,
  )
  const [forAll, forDebug, forEngine] = starting
  forAll.become(all)
  forDebug.become(debug)
  forEngine.become(engine)
  const checks = readyChecks(core, mode, home, settings, cometbft)
  readiness.opened(following === undefined ? checks : [...checks, following.check])
}

/** Starts CometBFT and the listeners for clients of the Cosmos SDK, where the node is under it. */
async function startCometbft(
  { settings, log, cometbft, consensus }: Served,
  { metrics, runToken }: Listening,
  core: Core,
): Promise<CosmosListeners | undefined> {
  if (cometbft === undefined || consensus === undefined) return undefined
  await consensus.startEngine(cometbft, core, log)
  metrics.watch(() => cometbft.sample())
  return await consensus.startListeners(cometbft, core, settings, { meter: metrics.meter, runToken, report: log.report })
}

/** Says where the node is reached: in its home, in its log and on the terminal. */
async function announce(
  { mode, home, settings, terminal, log, signals, config, cometbft, ready }: Served,
  { metrics, server, runToken }: Listening,
  core: Core,
  baking: Baking | undefined,
  cosmos: CosmosListeners | undefined,
  following: Following | undefined,
): Promise<void> {
  writeRunning(home, runningNode(server, metrics.url, mode, settings, baking, cometbft?.rpcUrl, following), runToken)
  const { httpUrl, wsUrl, debugUrl, engineUrl } = server
  const [metricsUrl, consensusUrl] = [metrics.url, cometbft?.rpcUrl]
  const urls = { httpUrl, wsUrl, debugUrl, engineUrl, metricsUrl, consensusUrl, restUrl: cosmos?.restUrl, grpcUrl: cosmos?.grpcUrl }
  log.component('node').info('serving', { version: clientVersion(), home, ...urls })
  const notices = (): void => {
    checkNode(log)
    checkHeap(config.memoryBudgetBytes, log)
  }
  if (mode === 'start') notices()
  if (baking !== undefined) await sayUnbaked(baking, core, home, log)
  if (mode === 'start') sayNoBlocks(settings, log, terminal, following)
  if (metrics.url !== undefined) terminal.out(`Metrics are on ${metrics.url}\n`)
  terminal.out(await ready(server, core))
  signals.serving()
  if (mode === 'dev') void setTimeout(NOTICE_MS, undefined, { ref: false }).then(notices)
}
