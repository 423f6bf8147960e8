// The port over the Rust core; everything crosses as JSON text and bytes.
import * as native from '../../native/index.js'
import type { BakeReport, BakeWork } from './bake.ts'
import type { Body } from './body.ts'
import { allocate, allocateWhole, CHUNK_BYTES_MAX, jsonOf, openChunks, WHOLE_BYTES_MAX } from './chunks.ts'
import type { NodeConfig } from './config.ts'
import type { DbTasks } from './db.ts'
import { CoreError, coreErrorFrom } from './error.ts'
import type { BlockId, FollowAnswer, FollowedFinality, FollowMeta, FollowPort, FollowState } from './follow.ts'
import type { Job, JobBase, JobProgress, JobResult, RunningJob } from './jobs.ts'
import { type CoreJson, coreJson } from './long-text.ts'
import type { NodeCommands } from './node-commands.ts'
import { type FetchOrigin, nativeFetcher } from './origin.ts'
import type {
  Core,
  CoreCaller,
  CoreLogEntry,
  Hex,
  HomeStatus,
  JsonObject,
  OpenOptions,
  Operations,
  ReadyTrace,
  ReplayJob,
  ResultStream,
  ScriptedOperation,
  ScriptedTrace,
  StreamOperations,
  TraceOrigin,
} from './port.ts'
import { type FindReady, ready } from './ready.ts'

/** First byte of every answer: what follows is a result, or an error value. */
const OK = 0

const { NativeTraceOf: TraceOf } = native

/** The core's number of each way to name a trace. */
const TRACE_OF = { transaction: TraceOf.Transaction, blockByNumber: TraceOf.BlockByNumber, blockByHash: TraceOf.BlockByHash } as const

/** What names the trace of an operation that may be baked. */
const TRACE_OPERATIONS: ReadonlyMap<keyof StreamOperations, native.NativeTraceOf> = new Map([
  ['traceTransaction', TraceOf.Transaction],
  ['traceBlockByNumber', TraceOf.BlockByNumber],
  ['traceBlockByHash', TraceOf.BlockByHash],
])

/** Numbers of long requests, by which they are ended. */
let tickets = 0

/** What `waiting` says once all was read. */
const OVER = -1

/** The bytes behind the mark; an error value is thrown. */
function unwrap(answer: Uint8Array): Uint8Array {
  const body = answer.subarray(1)
  if (answer[0] !== OK) throw coreErrorFrom(body)
  return body
}

/** The work begins with `open` or the first `next`. */
class Stream implements ResultStream {
  private readonly findReady: FindReady | undefined
  private readonly start: (options: OpenOptions) => native.NativeStream
  private options: OpenOptions = { head: '', tail: '' }
  private stream: native.NativeStream | undefined
  private cancelled = false
  /** Called once with whether the block is far below the head. */
  private caller: CoreCaller | undefined

  constructor(start: (options: OpenOptions) => native.NativeStream, findReady?: FindReady, caller?: CoreCaller) {
    this.start = start
    this.findReady = findReady
    this.caller = caller
  }

  open(options: OpenOptions): Promise<Body> | Body {
    const ready = this.findReady?.(options)
    if (ready === undefined) return this.begin(options)
    if (ready.historical) this.caller?.historical()
    if (options.facts !== undefined) options.facts.origin = 'baked'
    return ready.body
  }

  private async begin(options: OpenOptions): Promise<Body> {
    this.options = options
    try {
      const whole = await this.whole(options)
      if (whole !== undefined) return { kind: 'bytes', bytes: whole }
    } finally {
      this.fillIn(options)
    }
    const length = this.stream?.packedBytes() ?? OVER
    if (length === OVER) return await openChunks(this, options)
    // Head and tail are in the member.
    return { kind: 'gzip', length, member: await openChunks(this, { head: '', tail: '' }) }
  }

  private fillIn({ facts }: OpenOptions): void {
    if (facts === undefined) return
    const waitedMs = this.stream?.waited() ?? -1
    facts.origin = (this.stream?.origin() ?? undefined) as TraceOrigin | undefined
    facts.waitedMs = waitedMs < 0 ? undefined : waitedMs
  }

  /** The stream once something of it waits, and how many bytes; undefined at its end. */
  private async arrived(): Promise<[native.NativeStream, number] | undefined> {
    if (this.cancelled && this.stream === undefined) return undefined
    this.stream ??= this.start(this.options)
    const stream = this.stream
    let waiting = stream.waiting()
    if (waiting === 0) {
      const ready = await stream.ready()
      this.tellHeight(stream)
      if (typeof ready !== 'number') unwrap(ready)
      else waiting = ready === 0 ? OVER : ready
    }
    if (this.caller !== undefined) this.tellHeight(stream)
    return waiting === OVER ? undefined : [stream, waiting]
  }

  /** To be called once bytes or an error have come. */
  private tellHeight(stream: native.NativeStream): void {
    if (this.caller !== undefined && stream.isHistorical()) this.caller.historical()
    this.caller = undefined
  }

  /** All of it with its head and tail, where it is small and all of it has come. */
  private async whole({ head, tail }: OpenOptions): Promise<Uint8Array | undefined> {
    const arrived = await this.arrived()
    if (arrived === undefined) return undefined
    const [stream] = arrived
    const rest = stream.rest()
    // An id may hold any character: three bytes a UTF-16 unit are always enough.
    const around = (head.length + tail.length) * 3
    if (rest === OVER || rest + around > WHOLE_BYTES_MAX || stream.packedBytes() !== OVER) return undefined
    const bytes = rest + around > CHUNK_BYTES_MAX ? allocateWhole(rest + around) : allocate(rest + around)
    let at = bytes.write(head, 0, 'utf8')
    // There is no other reader, so all available bytes are read.
    at += stream.read(bytes.subarray(at, at + rest))
    at += bytes.write(tail, at, 'utf8')
    return bytes.subarray(0, at)
  }

  async next(): Promise<Uint8Array | null> {
    const arrived = await this.arrived()
    if (arrived === undefined) return null
    const [stream, waiting] = arrived
    const chunk = allocate(waiting)
    // There is no other reader, so all available bytes are read.
    stream.read(chunk)
    return chunk
  }

  cancel(): void {
    this.cancelled = true
    this.stream?.cancel()
  }
}

/** The gzip options in the form of the native module. */
const packing = ({ head, tail, gzipOver }: OpenOptions) => (gzipOver === undefined ? undefined : { head, tail, overBytes: gzipOver })

/** A node that follows another one. */
class NativeFollow implements FollowPort {
  private readonly node: native.NativeNode
  /** What is held, as it was after so many changes. */
  private held: { readonly changes: number; readonly state: FollowState } | undefined

  constructor(node: native.NativeNode) {
    this.node = node
  }

  async block(meta: FollowMeta, block: Buffer, witness: Buffer | undefined, extra: Buffer | undefined): Promise<FollowAnswer> {
    return jsonOf<FollowAnswer>(unwrap(await this.node.followBlock(JSON.stringify(meta), block, witness, extra)))
  }

  /** Read for every request that is passed on: parsed again only after a change. */
  state(): FollowState {
    // Before the state: a change between both is seen by the next call.
    const changes = this.node.followChanges()
    if (this.held?.changes === changes) return this.held.state
    const answer = this.node.followState()
    if (answer === null) throw new CoreError('internal', 'this data directory follows no node')
    const state = jsonOf<FollowState>(unwrap(answer))
    this.held = { changes, state }
    return state
  }

  async setFinality(finality: FollowedFinality): Promise<void> {
    unwrap(await this.node.setFollowedFinality(JSON.stringify(finality)))
  }
}

class NativeCore implements Core {
  readonly dev: boolean
  readonly follow: FollowPort | undefined
  readonly readyTrace: Core['readyTrace']
  private readonly node: native.NativeNode
  /** Whether there is a trace cache. */
  private readonly cache: boolean
  /** The client of this object's requests; undefined for none. */
  private readonly caller: CoreCaller | undefined

  constructor(node: native.NativeNode, dev: boolean, cache: boolean, follow?: FollowPort, caller?: CoreCaller) {
    this.node = node
    this.follow = follow
    this.dev = dev
    this.cache = cache
    this.caller = caller
    // Objects for a client are made for each of its requests.
    const isFirst = caller === undefined
    this.readyTrace =
      cache && isFirst ? ({ of, named, tracer }, options) => this.cached(TRACE_OF[of], named, `{"tracer":"${tracer}"}`, options) : undefined
  }

  /** The answer of the trace cache to a request by its texts, if it is ready. */
  private cached(of: native.NativeTraceOf, named: string, config: string, { head, tail, gzipOver }: OpenOptions): ReadyTrace | undefined {
    return ready((into) => this.node.ready(of, named, config, head, tail, into, gzipOver))
  }

  withCaller(caller: CoreCaller): Core {
    return new NativeCore(this.node, this.dev, this.cache, this.follow, caller)
  }

  request<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> | string {
    const json = coreJson({ op, args })
    const { caller } = this
    if (caller?.line !== undefined) return caller.line.add(json, (requests) => this.callInOrder(requests, caller))
    if (caller !== undefined) return this.call(json, caller)
    const answer = this.node.request(json)
    return typeof answer === 'string' ? answer : answer.then(unwrap)
  }

  /** Long requests that keep their order, the rest of which ends when their client leaves. */
  private callInOrder(requests: readonly CoreJson[], caller: CoreCaller): Promise<Uint8Array>[] {
    const ticket = ++tickets
    let isOver = false
    caller.onDisconnect(() => {
      if (!isOver) this.node.cancelCall(ticket)
    })
    const answers = this.node.callInOrder([...requests], caller.address, ticket)
    const over = () => {
      isOver = true
    }
    answers.at(-1)?.then(over, over)
    return answers.map((answer) => answer.then(unwrap))
  }

  /** Long work, which ends when its client leaves. */
  private async call(json: CoreJson, caller: CoreCaller): Promise<Uint8Array> {
    const ticket = ++tickets
    let isOver = false
    const answer = this.node.call(json, caller.address, ticket)
    // After the call, whose ticket is known then: a client that has left is reported at once.
    caller.onDisconnect(() => {
      if (!isOver) this.node.cancelCall(ticket)
    })
    try {
      return unwrap(await answer)
    } finally {
      isOver = true
    }
  }

  stream<Op extends keyof StreamOperations>(op: Op, args: StreamOperations[Op]): ResultStream {
    const { node, caller } = this
    const findReady = this.cache ? this.finder(op, args) : undefined
    return new Stream((options) => node.stream(coreJson({ op, args }), packing(options), options.client), findReady, caller)
  }

  /** Finds the answer to a trace in the cache; undefined for operations that are never baked. */
  private finder(op: keyof StreamOperations, args: object): FindReady | undefined {
    const of = TRACE_OPERATIONS.get(op)
    if (of === undefined) return undefined
    const { hash, block, config } = args as { readonly hash?: unknown; readonly block?: unknown; readonly config?: unknown }
    const named = of === TraceOf.BlockByNumber ? block : hash
    if (typeof named !== 'string' || config === undefined) return undefined
    return (options) => this.cached(of, named, JSON.stringify(config), options)
  }

  // Made on first use: an object of this class is made for every request that may take long.
  get scripted(): (op: ScriptedOperation, args: JsonObject) => ScriptedTrace {
    return (op, args) => {
      const link = this.node.traceHooked(JSON.stringify({ op, args }))
      return { channel: link, stream: new Stream(() => link.stream() as native.NativeStream) }
    }
  }

  async events(after: number, wait: boolean): Promise<Uint8Array> {
    return unwrap(await this.node.events(after, wait))
  }

  metricsSnapshot(): string {
    return this.node.metricsSnapshot()
  }

  status(): HomeStatus | undefined {
    const status = this.node.status()
    return status === null ? undefined : (JSON.parse(status) as HomeStatus)
  }

  takeLog(): readonly CoreLogEntry[] {
    return JSON.parse(this.node.takeLog()) as CoreLogEntry[]
  }

  async close(): Promise<void> {
    unwrap(await this.node.close())
  }
}

/**
 * Opens the node of a home; rejects with `CoreError` (`home_in_use`, `home_empty`, …). A fork reads
 * its remote node through `ask`.
 */
export async function openNode(config: NodeConfig, ask?: FetchOrigin): Promise<Core> {
  const opened = await native.openNode(JSON.stringify(config), ask === undefined ? undefined : nativeFetcher(ask))
  if (opened instanceof native.NativeNode) {
    const follow = opened.followState() === null ? undefined : new NativeFollow(opened)
    return new NativeCore(opened, config.mode === 'dev', config.bake.enabled === true, follow)
  }
  unwrap(opened)
  throw new Error('the core gave neither a node nor an error')
}

/** What a data directory that follows begins with. */
export interface NewFollower {
  readonly home: string
  /** The rules of the chain: of a network that is built in, or of a genesis file's text. */
  readonly chain: { readonly network?: string; readonly genesis?: string }
  /** RLP of the header of the block below the first one that is followed. */
  readonly base: Hex
  readonly upstream: { readonly clientVersion: string; readonly genesisHash?: Hex }
  readonly store: Omit<JobBase, 'home'>
}

/** A new data directory that follows. */
export interface MadeFollower {
  readonly chainId: number
  readonly genesisHash: Hex
  readonly base: BlockId
}

/**
 * Makes a data directory that holds blocks but no state; changes nothing where it is there
 * already. Rejects with `CoreError`.
 */
export const initFollower = async (options: NewFollower): Promise<MadeFollower> =>
  jsonOf<MadeFollower>(unwrap(await native.initFollower(JSON.stringify(options))))

/** Starts offline work on a home: making it, import, export. */
export const startJob = (job: Job): RunningJob => runJob<JobResult>(job)

/** Starts a task on the stores of a home. */
export const startDbTask = <Task extends keyof DbTasks>(
  base: JobBase,
  task: Task,
  args: DbTasks[Task]['args'],
): RunningJob<DbTasks[Task]['report']> => runJob<DbTasks[Task]['report']>({ ...args, ...base, job: 'db', task })

/** Starts baking blocks of a home that no node has. */
export const startBakeJob = (base: JobBase, work: BakeWork): RunningJob<BakeReport> =>
  runJob<BakeReport>({ ...base, ...work, job: 'bake', node: JSON.stringify(work.node) })

/**
 * Sends a request to the node that has a home open. Its report, errors and progress are those of
 * the same work on a closed home.
 */
export const startNodeCommand = <Kind extends keyof NodeCommands>(
  base: JobBase,
  kind: Kind,
  args: NodeCommands[Kind]['args'],
): RunningJob<NodeCommands[Kind]['report']> =>
  runJob<NodeCommands[Kind]['report']>({ ...base, job: 'nodeCommand', command: { ...args, do: kind } })

function runJob<Result>(job: object): RunningJob<Result> {
  const running = native.startJob(JSON.stringify(job))
  return {
    progress: () => JSON.parse(running.progress()) as JobProgress,
    wait: async () => jsonOf<Result>(unwrap(await running.wait())),
    cancel: () => running.cancel(),
  }
}

/** Starts traces of files without a home: lines of JSON, one for each file and configuration. */
export const startReplay = (job: ReplayJob): ResultStream => new Stream(() => native.startReplay(JSON.stringify(job)))

/** The core's table of tracers, as JSON: an array of `{name, options, baked}`. */
export const tracerTable = (): string => native.tracerTable()

/**
 * The core's table of instruments, as JSON: an array of
 * `{name, kind, unit, help, labels: [{key, values?}], buckets?}`.
 */
export const metricsCatalog = (): string => native.metricsCatalog()

/** An account of the dev chain; its key is published, so it is worth nothing on any other chain. */
export interface DevAccount {
  readonly address: `0x${string}`
  readonly privateKey: `0x${string}`
}

/**
 * The first funded accounts of a dev chain with this phrase; without both, the ten of a default
 * chain.
 */
export const devAccounts = (mnemonic?: string, count?: number): readonly DevAccount[] =>
  JSON.parse(native.devAccounts(mnemonic, count)) as DevAccount[]

/** The first validators of a chain under CometBFT, for its staking contract. */
export interface GenesisStaking {
  readonly validators: readonly {
    readonly operator: string
    /** The ed25519 key in hex. */
    readonly key: string
    readonly power: number
    readonly moniker: string
  }[]
  /** From an undelegation to its withdrawal. */
  readonly unbondingSeconds: number
  /** Of the genesis, in seconds since 1970. */
  readonly time: number
}

/** The entry of a genesis' `alloc` for the staking contract. */
export const stakingAccount = (given: GenesisStaking): unknown => JSON.parse(native.stakingAccount(JSON.stringify(given)))
