// The one error that comes out of the core.

/** Kinds of failure, as the core names them. */
export const CORE_ERROR_KINDS = [
  'beyond_lookback',
  'beyond_trie_lookback',
  'block_gas_limit',
  'block_not_found',
  'block_number_order',
  'block_timestamp_order',
  'busy',
  'call_invalid',
  'cancelled',
  'client_limit',
  'closed',
  'config',
  'engine_invalid_attributes',
  'engine_invalid_forkchoice',
  'engine_too_deep_reorg',
  'engine_too_large',
  'engine_unknown_payload',
  'engine_unsupported_fork',
  'evm_not_supported',
  'execution',
  'execution_failed',
  'execution_reverted',
  'fee_below_base_fee',
  'fee_cap_too_low',
  'genesis',
  'genesis_not_traceable',
  'header_not_found',
  'home_damaged',
  'home_empty',
  'home_in_use',
  'home_incompatible',
  'home_not_empty',
  'import',
  'init_code_too_long',
  'insufficient_funds',
  'internal',
  'intrinsic_gas_too_low',
  'invalid_params',
  'io',
  'limit_exceeded',
  'native_transaction',
  'no_answer',
  'no_snapshot',
  'nonce_too_high',
  'nonce_too_low',
  'not_canonical',
  'not_retained',
  'origin',
  'read_only',
  'record_damaged',
  'state_elsewhere',
  'store',
  'trace',
  'transaction_decode',
  'transaction_not_found',
  'transaction_out_of_gas',
  'transaction_rejected',
  'transaction_reverted',
  'unknown_account',
  'unknown_block',
  'unsupported',
] as const

/** A kind of failure. */
export type CoreErrorKind = (typeof CORE_ERROR_KINDS)[number]

/** What a failure carries: text such as the hex bytes of a revert, or an object. */
export type ErrorData = string | Readonly<Record<string, unknown>>

/** A failure inside the core; `data` is what its kind carries (the output of a revert, as hex). */
export class CoreError extends Error {
  override name = 'CoreError'
  readonly kind: CoreErrorKind
  readonly data: ErrorData | undefined
  /**
   * The message for clients on the network, if the plain message may name files of this machine.
   */
  readonly public: string | undefined

  constructor(kind: CoreErrorKind, message: string, data?: ErrorData, publicMessage?: string) {
    super(message)
    this.kind = kind
    this.data = data
    this.public = publicMessage
  }
}

/** What the core says of a trace whose transaction, or which as a whole, took all of its time. */
const OUT_OF_TIME: ReadonlySet<string> = new Set(['execution timeout', 'trace call timeout'])

/** Whether a trace has ended at its time limit. */
export const isOutOfTime = ({ kind, message }: CoreError): boolean => kind === 'trace' && OUT_OF_TIME.has(message)

const known = new Set<string>(CORE_ERROR_KINDS)
const decoder = new TextDecoder()

/** Reads the core's error value: `{"kind":…,"message":…,"public":…,"data":…}`. */
export function coreErrorFrom(bytes: Uint8Array): CoreError {
  const wire = JSON.parse(decoder.decode(bytes)) as { kind: string; message: string; public?: string; data?: ErrorData }
  return new CoreError(known.has(wire.kind) ? (wire.kind as CoreErrorKind) : 'internal', wire.message, wire.data, wire.public)
}
