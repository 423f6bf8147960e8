// Traces whose script consists of functions of this process: their types, and the run over the
// core's channel of a script and its stream of results.
import { streamText } from '../core/chunks.ts'
import { CoreError } from '../core/error.ts'
import type { Core, Hex, ScriptedTrace, StreamOperations } from '../core/port.ts'
import { checkHooks, HookFailure, runHooks } from '../tracer/hooked.ts'
import type { ScriptHooks } from '../tracer/script.ts'

/** Bounds of a trace with hooks. */
export interface HookOptions {
  /**
   * Ends the trace, which rejects with the signal's reason. It is checked between slices of about
   * 10 ms.
   */
  readonly signal?: AbortSignal | undefined
  /**
   * Time for each transaction, including the hooks; no bound without it. It does not end a hook
   * that never returns.
   */
  readonly timeoutMs?: number | undefined
  /** A JSON value that `setup` gets as text; `{}` without it. */
  readonly config?: unknown
}

/** What `result` returned for one transaction of a block. */
export interface HookedResult<T> {
  readonly txHash: Hex
  readonly result: T
}

/** Operations on one transaction. */
export type HookedOne = 'traceTransaction' | 'traceCall'
/** Operations on all transactions of a block. */
export type HookedBlock = 'traceBlockByNumber' | 'traceBlockByHash'

/** Arguments of an operation without the configuration of a tracer. */
export type HookArguments<Op extends HookedOne | HookedBlock> = Omit<StreamOperations[Op], 'config'>

/**
 * Traces with hooks: real functions with their closures, called on this thread for one transaction
 * after the other, with their object as `this`. The value that `result` returns comes back
 * unchanged. Rejects with `HookError` if a hook throws, with the signal's reason if that is
 * aborted, otherwise with `CoreError`; with TypeError for invalid hooks.
 */
export interface TraceWith {
  <T>(
    op: HookedOne,
    args: HookArguments<'traceTransaction'> | HookArguments<'traceCall'>,
    hooks: ScriptHooks<T>,
    options?: HookOptions,
  ): Promise<T>
  <T>(
    op: HookedBlock,
    args: HookArguments<'traceBlockByNumber'> | HookArguments<'traceBlockByHash'>,
    hooks: ScriptHooks<T>,
    options?: HookOptions,
  ): Promise<readonly HookedResult<T>[]>
}

/** A hook threw; `cause` is what. */
export class HookError extends CoreError {
  override name = 'HookError'
  /** The function that threw. */
  readonly hook: string

  constructor(failure: HookFailure) {
    super('trace', failure.message)
    this.hook = failure.hook
    this.cause = failure.cause
  }
}

/** No transaction takes a year. */
const NO_BOUND = '8760h'

/** The placeholder for the text of a script; it is not used. */
const PLACEHOLDER = '{}'

/** The configuration of the trace, for the core. */
function hookConfig({ timeoutMs, config }: HookOptions): object {
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    throw new TypeError(`timeoutMs must be a positive number of milliseconds, not ${timeoutMs}`)
  }
  const timeout = timeoutMs === undefined ? NO_BOUND : `${timeoutMs.toFixed(3)}ms`
  return { tracer: PLACEHOLDER, timeout, ...(config === undefined ? {} : { tracerConfig: config }) }
}

type Traced = number | readonly { readonly txHash: Hex; readonly result?: number; readonly error?: string }[]

/** Puts what the hooks returned where the core has put its place. */
function placed<T>(json: string, results: readonly T[]): T | readonly HookedResult<T>[] {
  const traced = JSON.parse(json) as Traced
  if (typeof traced === 'number') return results[traced] as T
  return traced.map(({ txHash, result, error }) => {
    if (result === undefined) throw new CoreError('trace', error ?? 'there is no result')
    return { txHash, result: results[result] as T }
  })
}

/** Runs the hooks of a trace that has begun, and ends it in every case. */
async function traceOver<T>(
  { channel, stream }: ScriptedTrace,
  hooks: ScriptHooks<T>,
  signal: AbortSignal | undefined,
): Promise<T | readonly HookedResult<T>[]> {
  const cancel = () => stream.cancel()
  signal?.addEventListener('abort', cancel, { once: true })
  const text = streamText(stream)
  // If a hook throws, this promise is not awaited.
  text.catch(() => undefined)
  try {
    const results = await runHooks(channel, hooks, () => signal?.aborted === true)
    signal?.throwIfAborted()
    return placed(await text, results)
  } catch (error) {
    signal?.throwIfAborted()
    throw error instanceof HookFailure ? new HookError(error) : error
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
}

/** Traces of a core with hooks; undefined where the core has no channel for a script. */
export function traceWith(core: Core): TraceWith | undefined {
  const { scripted } = core
  if (scripted === undefined) return undefined
  const run = async (op: HookedOne | HookedBlock, args: object, hooks: ScriptHooks, options: HookOptions = {}): Promise<unknown> => {
    checkHooks(hooks)
    const { signal } = options
    signal?.throwIfAborted()
    return await traceOver(scripted(op, { ...args, config: hookConfig(options) }), hooks, signal)
  }
  return run as TraceWith
}
