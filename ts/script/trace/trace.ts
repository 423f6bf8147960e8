// Traces: of transactions, blocks and calls, under built-in tracers, scripts, and functions of this
// process.

import { streamText } from '../../core/chunks.ts'
import type { Core, JsonObject, ResultStream } from '../../core/port.ts'
import { readAs } from '../../core/results.ts'
import { type HookedResult, type HookOptions, traceWith } from '../../hooks/index.ts'
import { stateOverrides as stateOverridesCodec, transaction } from '../../rpc/codec/call.ts'
import { type TraceRules, traceConfig, underRules } from '../../rpc/codec/trace.ts'
import type { ScriptHooks } from '../../tracer/script.ts'
import { type AbortOptions, within } from '../abort-options.ts'
import { blockOverridesOf, type CallRequest, checked, type Overrides } from '../call.ts'
import { argumentError, NotFoundError, withTypedErrors } from '../errors.ts'
import { blockRef } from '../reading/chain.ts'
import { type AnyData, type BlockPlace, dataOf, type Hex, quantityOf, WORD_BYTES } from '../values.ts'
import type { StructLogConfig, TraceResult, TracerConfig, TracerName } from './results.ts'
import { Steps } from './steps.ts'

/** A transaction of a block by its place. */
export interface InBlock {
  readonly block: BlockPlace
  /** From 0. */
  readonly index: number
}

/** All transactions of a block. */
export interface WholeBlock {
  readonly block: BlockPlace
  readonly index?: undefined
}

/** One transaction or call: the hash of a transaction, its place, or a call to pretend. */
export type TraceTarget = AnyData | InBlock | CallRequest

/** How to trace. */
export interface TraceOptions<C = unknown> extends AbortOptions {
  /** The tracer's own options. */
  readonly config?: C | undefined
  /** Of a call: in the environment of this block, on the state after it. Default: the head. */
  readonly block?: BlockPlace | undefined
  /** Of a call: on the state before this transaction of the block. */
  readonly txIndex?: number | undefined
  /** Of a call: what to pretend. */
  readonly stateOverrides?: Overrides['stateOverrides']
  readonly blockOverrides?: Overrides['blockOverrides']
}

/** The trace of one transaction of a block: its result, or why it could not be traced. */
export type Traced<T> =
  | { readonly txHash: Hex; readonly result: T; readonly error?: undefined }
  | { readonly txHash: Hex; readonly error: string; readonly result?: undefined }

/** Longest time of a trace that names none: traces of scripts are theirs to end. */
const NO_TIMEOUT = '24h'

type Op = 'traceTransaction' | 'traceCall' | 'traceBlockByNumber' | 'traceBlockByHash'

/** The core's operation, without the configuration of the tracer. */
interface ResolvedRequest {
  readonly op: Op
  readonly args: JsonObject
}

const isBlock = (target: object): target is InBlock | WholeBlock => 'block' in target

/** The hash of a transaction by its place. */
async function hashAt(core: Core, { block, index }: InBlock): Promise<string> {
  const ref = blockRef(block)
  const at = quantityOf(index, 'an index')
  const asked =
    typeof ref === 'string'
      ? readAs<{ hash: string } | null>(core, 'getTransactionByBlockNumberAndIndex', { block: ref, index: at })
      : readAs<{ hash: string } | null>(core, 'getTransactionByBlockHashAndIndex', { hash: ref.blockHash, index: at })
  const found = await withTypedErrors(asked)
  if (found === null) throw new NotFoundError('transaction_not_found', `block ${String(block)} has no transaction ${index}`)
  return found.hash
}

async function resolveRequest(core: Core, target: TraceTarget | WholeBlock, options: TraceOptions): Promise<ResolvedRequest> {
  if (typeof target === 'string' && !target.startsWith('0x')) {
    const block = JSON.stringify(target)
    throw argumentError(`a transaction is given by its hash, not ${block}; a block is given as { block: ${block} }`)
  }
  if (typeof target === 'string' || target instanceof Uint8Array) {
    return { op: 'traceTransaction', args: { hash: dataOf(target, 'a transaction', WORD_BYTES) } }
  }
  if (isBlock(target)) {
    if (target.index !== undefined) return { op: 'traceTransaction', args: { hash: await hashAt(core, target) } }
    const ref = blockRef(target.block)
    return typeof ref === 'string'
      ? { op: 'traceBlockByNumber', args: { block: ref } }
      : { op: 'traceBlockByHash', args: { hash: ref.blockHash } }
  }
  const { stateOverrides, txIndex } = options
  const args = {
    transaction: checked(transaction, target, 'the call'),
    block: blockRef(options.block ?? 'latest'),
    txIndex: txIndex === undefined ? undefined : `0x${txIndex.toString(16)}`,
    stateOverrides: stateOverrides === undefined ? undefined : checked(stateOverridesCodec, stateOverrides, 'stateOverrides'),
    blockOverrides: blockOverridesOf(options),
  }
  return { op: 'traceCall', args }
}

/** The traces of a node. */
export class Tracer {
  private readonly core: Core
  private readonly rules: TraceRules

  constructor(core: Core, rules: TraceRules) {
    this.core = core
    this.rules = rules
  }

  /** The configuration of the core. */
  private config(tracer: string, { config, timeout }: TraceOptions): JsonObject {
    const limit = timeout === undefined ? NO_TIMEOUT : `${Math.ceil(timeout)}ms`
    const own = config === undefined ? undefined : checked((value) => value, config, 'config')
    const all =
      tracer === 'structLogs' ? { ...(own as JsonObject | undefined), timeout: limit } : { tracer, tracerConfig: own, timeout: limit }
    return underRules(checked(traceConfig, all, 'the tracer') as Record<string, unknown>, this.rules)
  }

  private async stream(target: TraceTarget | WholeBlock, tracer: string, options: TraceOptions): Promise<ResultStream> {
    const config = this.config(tracer, options)
    const { op, args } = await resolveRequest(this.core, target, options)
    return this.core.stream(op, { ...args, config } as never)
  }

  /** The steps of one transaction. */
  steps(target: TraceTarget, options: TraceOptions<StructLogConfig>): Steps {
    return new Steps(() => this.stream(target, 'structLogs', options), options)
  }

  /** What a tracer by name or by its source gives. */
  async result(target: TraceTarget | WholeBlock, tracer: string, options: TraceOptions): Promise<unknown> {
    let stream: ResultStream | undefined
    let isEnded = false
    const work = async (): Promise<unknown> => {
      stream = await this.stream(target, tracer, options)
      // Its work begins with the first chunk that is taken.
      if (isEnded) return undefined
      return JSON.parse(await withTypedErrors(streamText(stream)))
    }
    return await within(options, work, () => {
      isEnded = true
      stream?.cancel()
    })
  }

  /** What functions of this process give. */
  async withHooks(target: TraceTarget | WholeBlock, hooks: ScriptHooks, options: TraceOptions): Promise<unknown> {
    const { op, args } = await resolveRequest(this.core, target, options)
    const { signal, timeout, config } = options
    const trace = traceWith(this.core)
    if (trace === undefined) throw new NotFoundError('unsupported', 'this node runs no functions of this process')
    const how: HookOptions = {
      ...(signal === undefined ? {} : { signal }),
      ...(timeout === undefined ? {} : { timeoutMs: timeout }),
      ...(config === undefined ? {} : { config }),
    }
    return await withTypedErrors(
      (trace as (op: Op, args: JsonObject, hooks: ScriptHooks, how: HookOptions) => Promise<unknown>)(op, args, hooks, how),
    )
  }
}

/** `node.trace`: what it gives follows from the target and the tracer. */
export interface Trace {
  /** The instructions of a transaction, one after the other: no promise, `for await` takes them. */
  (target: TraceTarget, tracer: 'structLogs', options?: TraceOptions<StructLogConfig>): Steps
  /** What the functions give for each transaction of a block. */
  <T>(target: WholeBlock, hooks: ScriptHooks<T>, options?: TraceOptions): Promise<readonly HookedResult<T>[]>
  /** What the functions give: they run in this process, with everything that they close over. */
  <T>(target: TraceTarget, hooks: ScriptHooks<T>, options?: TraceOptions): Promise<T>
  /** The results for all transactions of a block, which is given as `{ block: 'latest' }`. */
  <N extends Exclude<TracerName, 'structLogs'>, const C extends TracerConfig<N> = TracerConfig<N>>(
    target: WholeBlock,
    tracer: N,
    options?: TraceOptions<C>,
  ): Promise<readonly Traced<TraceResult<N, C>>[]>
  /**
   * The result of a built-in tracer, whose type follows from its name and options. A transaction is
   * given by its hash or as `{ block, index }`, a call as `{ to, data, … }`, a whole block as
   * `{ block: 'latest' }`. Options of the tracer go into `config`.
   */
  // The last one: compilers name what does not fit it.
  <N extends Exclude<TracerName, 'structLogs'>, const C extends TracerConfig<N> = TracerConfig<N>>(
    target: TraceTarget,
    tracer: N,
    options?: TraceOptions<C>,
  ): Promise<TraceResult<N, C>>
}
