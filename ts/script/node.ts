// A node in the process of a script. No port is opened unless the script does so.
import { setMaxListeners } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { resolveSettings, type SettingKey, type Settings } from '../config/index.ts'
import type { BakeReport } from '../core/bake.ts'
import type { Mode, NodeConfig } from '../core/config.ts'
import type { JobProgress } from '../core/jobs.ts'
import { openStore } from '../core/littable-native.ts'
import { type DevAccount, devAccounts, openNode as openCore, startNodeCommand } from '../core/native.ts'
import type { Core, HomeStatus } from '../core/port.ts'
import { explorerArtifacts, explorerSource } from '../node/explorer.ts'
import { batchLimits, nodeConfig, rpcContext, storage } from '../node/node-config.ts'
import { settingsFile } from '../node/settings-file.ts'
import { temporaryHome } from '../node/temporary-home.ts'
import { makeCaller } from '../rpc/caller.ts'
import { makeDispatch } from '../rpc/dispatch.ts'
import type { OwnWork } from '../rpc/own-methods.ts'
import { type Server, startServer } from '../server/index.ts'
import type { ScriptHooks } from '../tracer/script.ts'
import { type AbortOptions, checkSignal, within } from './abort-options.ts'
import { type Bundle, type CallOptions, type CallRequest, call, type SimulatedResult, type SimulateOptions, simulate } from './call.ts'
import { argumentError, closed, withTypedErrors } from './errors.ts'
import { guarded } from './guard.ts'
import { NodeProvider, type Provider } from './provider.ts'
import type { Block } from './reading/blocks.ts'
import { type BlockId, blockId, blocks, type LogOptions, logs, type RangeOptions, receipts } from './reading/chain.ts'
import type { Log, Receipt } from './reading/logs.ts'
import type { Rows } from './reading/rows.ts'
import { State, type StateOptions } from './reading/state.ts'
import { type Replayed, type ReplayOptions, replay } from './replay.ts'
import { type Kv, kvOf, type NodeTable, Tables } from './tables.ts'
import { type Trace, type TraceOptions, Tracer, type TraceTarget, type WholeBlock } from './trace/trace.ts'
import type { BlockPlace, Data, Form } from './values.ts'

/** Settings by their keys, as in docs/settings.md: values, or text as on the command line. */
export type GivenSettings = { readonly [K in SettingKey]?: Settings[K] | string }

/** How a home is opened. */
export interface OpenOptions {
  /** Folder of the home. */
  readonly home: string
  /**
   * Opens it for reading. If a node has the home open, its newest snapshot is read, and
   * `node.snapshot` has its height. Otherwise all of the home is read, and no other process can
   * open it meanwhile. Nothing can be sent.
   */
  readonly readOnly?: boolean | undefined
  /** What the home's node.toml says otherwise. The environment is not looked at. */
  readonly settings?: GivenSettings | undefined
  /** `dev` for a home that makes blocks by itself; made where it is missing. Default `start`. */
  readonly mode?: Mode | undefined
}

/** How a development chain is made. */
export interface DevNodeOptions {
  readonly settings?: GivenSettings | undefined
}

/** Where a node listens. */
export interface ListenOptions {
  /**
   * Port of HTTP, and of WebSocket by upgrade; 0 takes a free one. Default: the setting
   * evm.http_port.
   */
  readonly port?: number | undefined
  /** Port of WebSocket alone. Default: none. */
  readonly wsPort?: number | undefined
  /** Address. Default: the setting evm.http_host. */
  readonly host?: string | undefined
}

/** A node that listens. */
export interface Listening {
  readonly url: string
  readonly wsUrl: string | undefined
  /** Takes no more connections, and lets answers under way finish. */
  stop(): Promise<void>
}

/** A range to bake, both ends included. */
export interface BakeOptions extends AbortOptions {
  /** Called with the progress, a few times a second. */
  readonly onProgress?: ((progress: JobProgress) => void) | undefined
}

/** Heights to bake. Default: from the first block to the head. */
export interface BakeHeights {
  readonly from?: number | bigint | undefined
  readonly to?: number | bigint | undefined
}

/** Time between two looks at progress, in milliseconds. */
const PROGRESS_EVERY_MS = 250

/**
 * Threads for long work where the settings leave it open: a loop that traces and calls at the same
 * time needs some.
 */
const HEAVY_THREADS_MIN = 4

/** Memory is a disk here, where the system has one. */
const MEMORY_FOLDER = '/dev/shm'

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value))

/** Settings of a home: what is given, then its node.toml, then the defaults. */
function settingsOf(home: string, given: GivenSettings, dev: boolean): Settings {
  const file = settingsFile(home)
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined
  const flags = new Map(Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [[key, textOf(value)]])))
  return resolveSettings({ flags, file: text === undefined ? undefined : { path: file, text }, dev }).settings
}

/** The core's configuration for scripts. */
function configOf({ home, mode = 'start', readOnly = false }: OpenOptions, settings: Settings): NodeConfig {
  const config = nodeConfig(home, mode, settings)
  const { workers, bake } = config
  const heavy = workers.heavy as { readonly threads: number }
  const threads = settings['workers.heavy_threads'] === 'auto' ? Math.max(HEAVY_THREADS_MIN, heavy.threads) : heavy.threads
  return {
    ...config,
    readOnly,
    workers: { ...workers, heavy: { ...heavy, threads } },
    // A read-only node bakes nothing.
    bake: readOnly ? { ...bake, enabled: false } : bake,
  }
}

/** Called with failures that are faults of this program, which the caller gets too. */
const report = (e: unknown): void => {
  process.emitWarning(e instanceof Error ? e : String(e), 'HearthWarning')
}

/** What belongs to an open node. */
interface Parts {
  readonly core: Core
  readonly home: string
  readonly settings: Settings
  readonly readOnly: boolean
  /** Removes what was made for it. */
  readonly cleanUp: () => void
}

/**
 * A node that is open in this process. Everything rejects with a `HearthError`; after `close`, with
 * `ClosedError`. Several may be open on one home in one process, also in worker threads: they share
 * the node beneath, and the last one to close closes that.
 */
export class HearthNode implements AsyncDisposable {
  /** The home's folder. */
  readonly home: string
  /** Whether nothing can be sent. */
  readonly readOnly: boolean
  /** Every JSON-RPC method that the node serves, without a socket (EIP-1193). */
  readonly provider: Provider
  /** The committed rows of the state store. */
  readonly kv: Kv
  /**
   * Traces a transaction, a block or a call. The tracer is the name of a built-in one, from which
   * with its options the type of the result follows; `structLogs` for the instructions one after
   * the other; or an object of functions, which run in this process.
   */
  readonly trace: Trace
  /** The port beneath, for what this class has no word for. It changes from version to version. */
  readonly core: Core
  private readonly parts: Parts
  private readonly tables: Tables
  private readonly closing = new AbortController()
  private readonly servers = new Set<Server>()
  private ended: Promise<void> | undefined

  /** @internal */
  constructor(parts: Parts) {
    const { home, settings, readOnly } = parts
    // As many listeners as iterations are open.
    setMaxListeners(0, this.closing.signal)
    const core = guarded(parts.core, () => this.closing.signal.aborted)
    this.parts = parts
    this.core = core
    this.home = home
    this.readOnly = readOnly
    const work: OwnWork = { bake: (heights, abort) => this.bake(heights, abort) }
    this.provider = new NodeProvider(makeCaller(rpcContext(core, settings), report), work, report)
    this.kv = kvOf(core)
    this.tables = new Tables(() =>
      openStore({ roots: [path.join(home, 'data/ledger'), ...settings['littable.extra_roots']], readOnly: true }),
    )
    const tracer = new Tracer(core, rpcContext(core, settings).trace)
    this.trace = ((target: TraceTarget | WholeBlock, how: string | ScriptHooks, options: TraceOptions = {}) => {
      if (typeof how !== 'string') return tracer.withHooks(target, how, options)
      return how === 'structLogs' ? tracer.steps(target as TraceTarget, options as never) : tracer.result(target, how, options)
    }) as Trace
  }

  /** What the home holds now. */
  status(): HomeStatus {
    const status = this.core.status?.()
    if (status === undefined) throw closed()
    return status
  }

  /**
   * Height of the snapshot that is read, because another process has the home; undefined where the
   * home itself is.
   */
  get snapshot(): bigint | undefined {
    const { snapshot } = this.status()
    return snapshot === null ? undefined : BigInt(snapshot)
  }

  /** The chain's id. */
  get chainId(): number {
    return this.status().chainId
  }

  /** Height of the head. */
  get height(): bigint {
    return BigInt(this.status().head)
  }

  /** Number and hash of a block. */
  block(place: BlockPlace = 'latest'): Promise<BlockId> {
    return blockId(this.core, place)
  }

  /** The state after a block. */
  state<F extends Form = 'hex'>(place: BlockPlace = 'latest', options: StateOptions<F> = {}): State<F> {
    return new State(this.core, place, options)
  }

  /** Blocks of the canonical chain; `full` for whole transactions. */
  blocks<F extends Form = 'hex', Full extends boolean = false>(
    options: RangeOptions<F> & { readonly full?: Full | undefined } = {},
  ): Rows<Block<F, Full>> {
    return blocks(this.core, this.whileOpen(options))
  }

  /** Receipts of the canonical chain. */
  receipts<F extends Form = 'hex'>(options: RangeOptions<F> = {}): Rows<Receipt<F>> {
    return receipts(this.core, this.whileOpen(options))
  }

  /**
   * Logs of the canonical chain. However many they are: the limits of eth_getLogs do not hold here.
   */
  logs<F extends Form = 'hex'>(options: LogOptions<F> = {}): Rows<Log<F>> {
    return logs(this.core, this.whileOpen(options))
  }

  /** A table of the ledger, for reading: `blocks`, `receipts`, `capsules`. */
  async table(name: string): Promise<NodeTable> {
    this.status()
    return await this.tables.table(name)
  }

  /** Names of the tables. */
  async tableNames(): Promise<string[]> {
    this.status()
    return await this.tables.names()
  }

  /** What a call returns. Rejects with `RevertError` where it reverts. */
  call<F extends Form = 'hex'>(request: CallRequest, options: CallOptions<F> = {}): Promise<Data<F>> {
    return call(this.core, request, options)
  }

  /** Simulates blocks of calls, one after the other (eth_simulateV1). */
  simulate(bundle: Bundle, options: SimulateOptions = {}): Promise<readonly SimulatedResult[]> {
    return simulate(this.core, bundle, options)
  }

  /** Traces a recorded block or a tracer test from a file: nothing of the home is used. */
  replay(file: string, options: ReplayOptions = {}): AsyncIterable<Replayed> {
    this.status()
    return replay(file, options, this.parts.settings)
  }

  /**
   * Makes traces of blocks ahead of time. The node must have been opened with
   * evm.trace_bake_enabled; what is baked already is left alone.
   */
  async bake({ from, to }: BakeHeights = {}, { onProgress, ...abort }: BakeOptions = {}): Promise<BakeReport> {
    this.status()
    const height = (value: number | bigint | undefined): number | undefined => (value === undefined ? undefined : Number(value))
    const base = storage(this.home, this.parts.settings)
    checkSignal(abort)
    const job = startNodeCommand(base, 'bake', { from: height(from), to: height(to) })
    const timer = onProgress === undefined ? undefined : setInterval(() => onProgress(job.progress()), PROGRESS_EVERY_MS)
    try {
      const done = await within(
        abort,
        () => withTypedErrors(job.wait()),
        () => job.cancel(),
      )
      onProgress?.(job.progress())
      return done
    } finally {
      clearInterval(timer)
    }
  }

  /** Serves JSON-RPC over HTTP and WebSocket, until `stop` or `close`. */
  async listen({ port, wsPort, host }: ListenOptions = {}): Promise<Listening> {
    this.status()
    const { settings } = this.parts
    const given = {
      ...settings,
      'evm.http_enabled': true,
      ...(port === undefined ? {} : { 'evm.http_port': port }),
      ...(host === undefined ? {} : { 'evm.http_host': host }),
      'evm.ws_host': host ?? settings['evm.http_host'],
      ...(wsPort === undefined ? {} : { 'evm.ws_port': wsPort }),
      'evm.ws_enabled': true,
    } as Settings
    const dispatch = makeDispatch(rpcContext(this.core, settings), batchLimits(settings), report)
    // A script serves the pages where its settings say so: it is not shown at most chains of
    // scripts.
    const explorer = explorerSource('start', given, () => this.core)
    const artifacts = explorerArtifacts(given, () => this.core)
    const server = await startServer(given, dispatch, { report, explorer, artifacts, upgradesAlone: wsPort === undefined })
    // A node that was closed meanwhile stops no further server.
    if (this.closing.signal.aborted) {
      await server.stop()
      throw closed()
    }
    this.servers.add(server)
    const stop = async (): Promise<void> => {
      this.servers.delete(server)
      await server.stop()
    }
    return { url: server.httpUrl as string, wsUrl: server.wsUrl, stop }
  }

  /** Ends what runs and closes the stores. A second call waits for the first. */
  close(): Promise<void> {
    this.ended ??= this.end()
    return this.ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  private async end(): Promise<void> {
    this.closing.abort(closed())
    ;(this.provider as NodeProvider).close()
    await Promise.all([...this.servers].map((server) => server.stop()))
    await this.tables.close()
    try {
      await withTypedErrors(this.parts.core.close())
    } finally {
      this.parts.cleanUp()
    }
  }

  /** Options whose signal is also aborted when the node closes. */
  private whileOpen<O extends AbortOptions>(options: O): O {
    const { signal } = this.closing
    return { ...options, signal: options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]) }
  }
}

/** Opens the node of a home in this process. No port is opened. */
export async function openNode(options: OpenOptions): Promise<HearthNode> {
  const home = path.resolve(options.home)
  const { settings: given = {}, mode, readOnly = false } = options
  const settings = settingsOf(home, given, mode === 'dev')
  const core = await withTypedErrors(openCore(configOf({ ...options, home }, settings)))
  return new HearthNode({ core, home, settings, readOnly, cleanUp: () => undefined })
}

/** A development chain: a block for each transaction, and funded accounts. */
export interface DevNode extends HearthNode {
  /** The funded accounts: ten, or as many as `dev.accounts`. Their keys are known to everyone. */
  readonly accounts: readonly DevAccount[]
}

/**
 * Makes a development chain that is gone when it is closed, or its process is. It lies in memory
 * where the system has a folder for that, and is never synced to a disk.
 */
export async function createDevNode({ settings: given = {} }: DevNodeOptions = {}): Promise<DevNode> {
  const { home, remove: cleanUp } = temporaryHome(fs.existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : os.tmpdir())
  try {
    const settings = settingsOf(home, { 'state-commit.flatkv.fsync': 'none', 'state-commit.flatkv.min_free_bytes': '0', ...given }, true)
    if (settings['dev.fork_url'] !== 'none') throw argumentError('createDevNode makes no forks: dev.fork_url is of `hearth dev` alone')
    const core = await withTypedErrors(openCore(configOf({ home, mode: 'dev' }, settings)))
    const node = new HearthNode({ core, home, settings, readOnly: false, cleanUp })
    return Object.assign(node, { accounts: devAccounts(settings['dev.mnemonic'], settings['dev.accounts']) })
  } catch (e) {
    cleanUp()
    throw e
  }
}
