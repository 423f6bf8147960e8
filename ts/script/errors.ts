// The errors of scripts: a class for each thing that a script may want to do about it.
import { CoreError, type CoreErrorKind, type ErrorData, isOutOfTime } from '../core/error.ts'
import { HookError } from '../hooks/index.ts'

/**
 * What went wrong, as data: everything that rejects or throws here because of a node is one of
 * these.
 */
export class HearthError extends Error {
  override name = 'HearthError'
  /** What went wrong, in one word that stays the same. */
  readonly code: CoreErrorKind | 'timeout'
  /** What the error carries beside its message: the output of a revert as `0x` text. */
  readonly data: string | undefined

  constructor(code: CoreErrorKind | 'timeout', message: string, data?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.data = data
  }
}

/** The node was closed. */
export class ClosedError extends HearthError {
  override name = 'ClosedError'
}

/**
 * The home cannot be opened: it is empty, of another format or of another chain, or the settings do
 * not fit.
 */
export class HomeError extends HearthError {
  override name = 'HomeError'
}

/** Another process has the home, or this one under other settings. */
export class HomeInUseError extends HomeError {
  override name = 'HomeInUseError'
  /** The process that has it, where it is known. */
  readonly pid: number | undefined

  constructor(code: CoreErrorKind, message: string, data?: string, cause?: unknown) {
    super(code, message, data, cause)
    this.pid = data === undefined ? undefined : Number(data)
  }
}

/** The node is open for reading, and something was to be changed or sent. */
export class ReadOnlyError extends HearthError {
  override name = 'ReadOnlyError'
}

/** No such block or transaction. */
export class NotFoundError extends HearthError {
  override name = 'NotFoundError'
}

/**
 * State, receipts or blocks of this height are not kept; the message names the heights that are.
 */
export class NotRetainedError extends HearthError {
  override name = 'NotRetainedError'
}

/**
 * The chain has left a block that was named or read before: begin again from a block that both
 * branches have.
 */
export class ReorgError extends HearthError {
  override name = 'ReorgError'
}

/** The EVM reverted a call; `data` is what it returned. */
export class RevertError extends HearthError {
  override name = 'RevertError'
}

/** A call or a transaction that cannot be executed or was not accepted. */
export class ExecutionError extends HearthError {
  override name = 'ExecutionError'
}

/** Arguments that do not fit. */
export class ArgumentError extends HearthError {
  override name = 'ArgumentError'
}

/** @internal An argument that does not fit, in these words. */
export const argumentError = (message: string): ArgumentError => new ArgumentError('invalid_params', message)

/** A limit of the node, named with its value. */
export class LimitError extends HearthError {
  override name = 'LimitError'
}

/** A trace ended early. */
export class TraceError extends HearthError {
  override name = 'TraceError'
}

/** A function of a tracer threw; `cause` is what. */
export class TracerFunctionError extends TraceError {
  override name = 'TracerFunctionError'
  /** Name of the function: `step`, `result`, … */
  readonly hook: string

  constructor(message: string, hook: string, cause: unknown) {
    super('trace', message, undefined, cause)
    this.hook = hook
  }
}

/** `timeout` was over, or the time limit that the node has for traces. */
export class TimeoutError extends HearthError {
  override name = 'TimeoutError'
}

/**
 * A store failed or is damaged; the message names the file. `hearth db verify` says what else is.
 */
export class StoreError extends HearthError {
  override name = 'StoreError'
}

/** A defect of the core: a panic in it ends up here, and never ends the process. */
export class InternalError extends HearthError {
  override name = 'InternalError'
}

type ErrorClass = new (code: CoreErrorKind, message: string, data?: string, cause?: unknown) => HearthError

/** The class of each kind of failure. */
const CLASSES: Readonly<Record<CoreErrorKind, ErrorClass>> = {
  block_gas_limit: ExecutionError,
  block_not_found: NotFoundError,
  block_number_order: ArgumentError,
  block_timestamp_order: ArgumentError,
  beyond_lookback: LimitError,
  beyond_trie_lookback: LimitError,
  busy: LimitError,
  call_invalid: ExecutionError,
  cancelled: HearthError,
  client_limit: LimitError,
  closed: ClosedError,
  config: HomeError,
  engine_invalid_attributes: ArgumentError,
  engine_invalid_forkchoice: ArgumentError,
  engine_too_deep_reorg: LimitError,
  engine_too_large: LimitError,
  engine_unknown_payload: NotFoundError,
  engine_unsupported_fork: ArgumentError,
  evm_not_supported: NotRetainedError,
  execution: InternalError,
  execution_failed: ExecutionError,
  execution_reverted: RevertError,
  fee_below_base_fee: ExecutionError,
  fee_cap_too_low: ExecutionError,
  genesis: HomeError,
  genesis_not_traceable: ArgumentError,
  header_not_found: NotFoundError,
  home_damaged: HomeError,
  home_empty: HomeError,
  home_in_use: HomeInUseError,
  home_incompatible: HomeError,
  home_not_empty: HomeError,
  import: HearthError,
  init_code_too_long: ExecutionError,
  insufficient_funds: ExecutionError,
  internal: InternalError,
  intrinsic_gas_too_low: ExecutionError,
  invalid_params: ArgumentError,
  io: HearthError,
  limit_exceeded: LimitError,
  native_transaction: NotFoundError,
  no_answer: HomeInUseError,
  no_snapshot: HomeInUseError,
  nonce_too_high: ExecutionError,
  nonce_too_low: ExecutionError,
  not_canonical: ReorgError,
  not_retained: NotRetainedError,
  origin: HearthError,
  read_only: ReadOnlyError,
  record_damaged: StoreError,
  state_elsewhere: NotRetainedError,
  store: StoreError,
  trace: TraceError,
  transaction_decode: ArgumentError,
  transaction_not_found: NotFoundError,
  transaction_out_of_gas: ExecutionError,
  transaction_rejected: ExecutionError,
  transaction_reverted: ExecutionError,
  unknown_account: ArgumentError,
  unknown_block: NotFoundError,
  unsupported: ArgumentError,
}

/** The bytes that a failure carries; those of a transaction that failed stand in an object. */
function dataText(data: ErrorData | undefined): string | undefined {
  if (typeof data !== 'object') return data
  return typeof data.data === 'string' ? data.data : undefined
}

/** @internal A failure of the core as the error of a script; anything else as it is. */
export function hearthError(e: unknown): unknown {
  if (e instanceof HookError) return new TracerFunctionError(e.message, e.hook, e.cause)
  if (!(e instanceof CoreError)) return e
  if (isOutOfTime(e)) return new TimeoutError('timeout', e.message, undefined, e)
  return new CLASSES[e.kind](e.kind, e.message, dataText(e.data), e)
}

/** @internal Says so where a node is closed. */
export const closed = (): ClosedError => new ClosedError('closed', 'the node is closed')

/** @internal Awaits work of the core; its failures become errors of scripts. */
export async function withTypedErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (e) {
    throw hearthError(e)
  }
}
