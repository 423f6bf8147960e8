// The one table of JSON-RPC errors: each kind of failure, its code, and what metrics say of it.
import { CoreError, type CoreErrorKind } from '../core/error.ts'
import { PeerError } from '../peers/error.ts'
import type { ForwardedError, ForwardFailure } from '../peers/forward.ts'

/** Codes of the JSON-RPC 2.0 specification (section 5.1) and of go-ethereum. */
export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  server: -32000,
  responseTooLarge: -32003,
  /** EIP-1474: a transaction that is not accepted; anvil's code for a fee below the base fee. */
  transactionRejected: -32003,
  /** go-ethereum: a transaction that was sent was not mined in time, `data` holds its hash. */
  syncTimeout: 4,
  /** EIP-1474: a limit of this node. */
  limitExceeded: -32005,
  /** go-ethereum: the EVM reverted, `data` holds the output. */
  reverted: 3,
  // execution-apis, src/engine/common.md: errors of the Engine API.
  unknownPayload: -38001,
  invalidForkchoice: -38002,
  invalidAttributes: -38003,
  tooLarge: -38004,
  unsupportedFork: -38005,
  tooDeepReorg: -38006,
  // execution-apis: what is wrong with a block or a call of eth_simulateV1.
  nonceTooLow: -38010,
  nonceTooHigh: -38011,
  feeCapTooLow: -38012,
  intrinsicGas: -38013,
  insufficientFunds: -38014,
  blockGasLimit: -38015,
  blockNumber: -38020,
  blockTimestamp: -38021,
  initCodeSize: -38025,
  clientLimit: -38026,
} as const

/** What a class of failures says in the label `error_class`, and which code its errors carry. */
interface ErrorClassRow {
  /** The code of all its errors; `any` where they differ, `none` where the client gets no code. */
  readonly code: number | 'any' | 'none'
  readonly when: string
}

/** Every value of the label `error_class` but the empty one, which is success. */
export const ERROR_CLASSES = {
  panic: { code: CODE.internal, when: 'A panic or an exception was caught: a defect of this node.' },
  execution_reverted: { code: CODE.reverted, when: 'The EVM reverted a call, an estimate, an access list or a transaction that was sent.' },
  evm_not_supported: { code: CODE.server, when: 'A height before the first block of this node.' },
  chain_legacy_disabled: {
    code: CODE.methodNotFound,
    when: 'A method of the namespace `chain` that `evm.enabled_legacy_chain_apis` does not name.',
  },
  association_missing: {
    code: CODE.server,
    when: 'A text of the Cosmos SDK that is no account of this chain: another prefix, another length, a wrong checksum.',
  },
  jsonrpc_error: { code: 'any', when: 'Any other error with a code.' },
  unknown: { code: 'none', when: 'The rest: the client left or the answer was cut off in the middle, and no code reached the client.' },
} as const satisfies Readonly<Record<string, ErrorClassRow>>

/** A value of the label `error_class`. */
export type ErrorClass = keyof typeof ERROR_CLASSES

/** An error as JSON-RPC sends it. */
export class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number
  /** A JSON value. */
  readonly data: unknown
  /** What metrics count it as. */
  readonly errorClass: ErrorClass

  constructor(code: number, message: string, data?: unknown, errorClass: ErrorClass = 'jsonrpc_error') {
    // Clients cause these errors, thousands in one batch. A stack would cost more than most
    // answers, and does not describe the client.
    const depth = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = depth
    this.code = code
    this.data = data
    this.errorClass = errorClass
  }
}

/** A kind of failure in the core, for clients, metrics and docs. */
interface CoreErrorRow {
  readonly code: number
  /** `jsonrpc_error` where absent. */
  readonly errorClass?: ErrorClass
  /** The text that clients see; capitals stand for what varies. */
  readonly message: string
  /** What `data` holds, where there is one. */
  readonly data?: string
}

/** Code, class and text of every kind of failure in the core. */
const CORE_ERRORS: Readonly<Record<CoreErrorKind, CoreErrorRow>> = {
  block_gas_limit: { code: CODE.blockGasLimit, message: 'block gas limit reached: N >= M' },
  block_not_found: { code: CODE.server, message: 'block #N not found' },
  block_number_order: { code: CODE.blockNumber, message: 'block numbers must be in order: N <= M' },
  block_timestamp_order: { code: CODE.blockTimestamp, message: 'block timestamps must be in order: N <= M' },
  beyond_lookback: {
    code: CODE.server,
    message: 'block number N is beyond max lookback of M',
    data: 'the setting that says so: evm.max_trace_lookback_blocks',
  },
  beyond_trie_lookback: {
    code: CODE.server,
    message:
      'block N is D blocks below the head, and the state trie is computed for at most M (evm.max_trie_lookback_blocks), or more accounts and slots than can be taken back changed since',
  },
  busy: {
    code: CODE.limitExceeded,
    message:
      'node is busy: the POOL queue is full (N waiting), or no thread of the POOL pool was free for N ms, or it takes N bytes of memory, and its budget is M',
  },
  call_invalid: { code: CODE.internal, message: 'err: REASON (supplied gas N), or execution aborted (timeout = T)' },
  cancelled: { code: CODE.server, errorClass: 'unknown', message: 'cancelled: no client waits for the answer' },
  client_limit: { code: CODE.clientLimit, message: 'too many blocks, or another limit of a simulation with its value' },
  closed: { code: CODE.server, message: 'node is closed' },
  config: { code: CODE.internal, message: 'the configuration of this node cannot be used' },
  engine_invalid_attributes: { code: CODE.invalidAttributes, message: 'Invalid payload attributes', data: 'what is wrong with them' },
  engine_invalid_forkchoice: { code: CODE.invalidForkchoice, message: 'Invalid forkchoice state', data: 'what is wrong with it' },
  engine_too_deep_reorg: { code: CODE.tooDeepReorg, message: 'Too deep reorg', data: 'how deep, and the limit' },
  engine_too_large: { code: CODE.tooLarge, message: 'Too large request', data: 'what is too much, and the limit' },
  engine_unknown_payload: { code: CODE.unknownPayload, message: 'Unknown payload' },
  engine_unsupported_fork: { code: CODE.unsupportedFork, message: 'Unsupported fork', data: 'which forks the method takes' },
  evm_not_supported: {
    code: CODE.server,
    errorClass: 'evm_not_supported',
    message: 'block N is before the first block of this node, which is block M',
  },
  execution: { code: CODE.server, message: 'block N does not execute: REASON' },
  execution_failed: { code: CODE.server, message: 'REASON, in the words of go-ethereum' },
  execution_reverted: {
    code: CODE.reverted,
    errorClass: 'execution_reverted',
    message: 'execution reverted, or execution reverted: REASON',
    data: 'the output of the call, as hex',
  },
  fee_below_base_fee: { code: CODE.transactionRejected, message: 'max fee per gas less than block base fee' },
  fee_cap_too_low: { code: CODE.feeCapTooLow, message: 'err: max fee per gas less than block base fee: … (supplied gas N)' },
  genesis: { code: CODE.internal, message: 'the genesis cannot be used' },
  genesis_not_traceable: { code: CODE.server, message: 'genesis is not traceable' },
  header_not_found: { code: CODE.server, message: 'header not found, header for hash not found, or safe (or finalized) block not found' },
  home_damaged: { code: CODE.internal, message: 'the data directory is damaged' },
  home_empty: { code: CODE.internal, message: 'the home holds no chain yet' },
  home_in_use: { code: CODE.internal, message: 'the data directory is in use by another process' },
  home_incompatible: { code: CODE.internal, message: 'the home cannot be used' },
  home_not_empty: { code: CODE.internal, message: 'the home holds a chain already' },
  import: { code: CODE.internal, message: 'REASON' },
  init_code_too_long: { code: CODE.initCodeSize, message: 'err: max initcode size exceeded: … (supplied gas N)' },
  insufficient_funds: { code: CODE.insufficientFunds, message: 'err: insufficient funds for gas * price + value: … (supplied gas N)' },
  internal: { code: CODE.internal, errorClass: 'panic', message: 'internal error: REASON' },
  intrinsic_gas_too_low: { code: CODE.intrinsicGas, message: 'err: intrinsic gas too low: have N, want M (supplied gas N)' },
  invalid_params: { code: CODE.invalidParams, message: 'REASON, the parameter named' },
  io: { code: CODE.internal, message: 'FILE: REASON' },
  limit_exceeded: { code: CODE.limitExceeded, message: 'the limit, named with its value' },
  native_transaction: { code: CODE.server, message: 'cannot trace a native transaction: HASH came from outside the EVM' },
  no_answer: { code: CODE.internal, message: 'HOME is in use by process PID on HOST, and that process did not answer the request: REASON' },
  no_snapshot: { code: CODE.internal, message: 'there is no snapshot of the home to read' },
  nonce_too_high: { code: CODE.nonceTooHigh, message: 'err: nonce too high: … (supplied gas N)' },
  nonce_too_low: { code: CODE.nonceTooLow, message: 'err: nonce too low: … (supplied gas N)' },
  not_canonical: { code: CODE.server, message: 'hash is not currently canonical' },
  not_retained: { code: CODE.server, message: 'state at height N is not available: REASON, or block N was pruned: REASON' },
  origin: { code: CODE.server, message: 'the origin of the fork: REASON' },
  read_only: { code: CODE.server, message: 'the data directory is open for reading only: nothing can be changed or sent' },
  record_damaged: { code: CODE.internal, message: 'the record (or the receipts, or the capsule) of block HASH is damaged' },
  state_elsewhere: { code: CODE.server, message: 'REASON: not kept here: this node follows another one, which has it' },
  store: { code: CODE.internal, message: 'a store of this node failed; its log says more' },
  trace: { code: CODE.server, message: 'REASON' },
  transaction_decode: { code: CODE.server, message: 'REASON' },
  transaction_not_found: { code: CODE.server, message: 'transaction not found' },
  transaction_out_of_gas: {
    code: CODE.server,
    errorClass: 'execution_reverted',
    message: 'Transaction ran out of gas',
    data: 'an object as Hardhat’s node has it: message, txHash, data',
  },
  transaction_rejected: { code: CODE.server, message: 'REASON, in the words of go-ethereum' },
  transaction_reverted: {
    code: CODE.internal,
    errorClass: 'execution_reverted',
    message: 'Error: VM Exception while processing transaction: REASON, or another text of Hardhat’s node',
    data: 'an object as Hardhat’s node has it: message, txHash, data',
  },
  unknown_account: { code: CODE.server, message: 'unknown account, or unknown account: the transaction has no `from`; …' },
  unknown_block: { code: CODE.server, message: 'unknown block' },
  unsupported: { code: CODE.server, message: 'REASON' },
}

/** Every kind of failure in the core with its row, for the docs. */
export const errorKinds = (): [CoreErrorKind, CoreErrorRow][] => Object.entries(CORE_ERRORS) as [CoreErrorKind, CoreErrorRow][]

export const parseError = (): RpcError => new RpcError(CODE.parse, 'parse error')
export const invalidRequest = (message = 'invalid request'): RpcError => new RpcError(CODE.invalidRequest, message)
export const batchTooLarge = (): RpcError => invalidRequest('batch too large')
export const methodNotFound = (method: string): RpcError =>
  new RpcError(CODE.methodNotFound, `the method ${method} does not exist/is not available`)
/** A method of go-ethereum that is left out on purpose. */
export const notServed = (method: string, instead: string): RpcError =>
  new RpcError(CODE.methodNotFound, `the method ${method} does not exist/is not available: use ${instead}`)
/** A method of the namespace `chain` that is not enabled, or not known. */
export const chainDisabled = (method: string): RpcError =>
  new RpcError(
    CODE.methodNotFound,
    `${method} is not enabled on this node: add it to evm.enabled_legacy_chain_apis`,
    'legacy_chain_deprecated',
    'chain_legacy_disabled',
  )
/** A text that stands for no account that the EVM knows. */
export const noEvmAddress = (account: string): RpcError =>
  new RpcError(CODE.server, `account ${account} has no EVM address`, undefined, 'association_missing')
/** An error of go-ethereum that has no code of its own. */
export const serverError = (message: string): RpcError => new RpcError(CODE.server, message)
/** Milliseconds as Go prints a duration below an hour (time/time.go: Duration.String). */
function goDuration(ms: number): string {
  if (ms > 0 && ms < 1000) return `${ms}ms`
  const [minutes, seconds] = [Math.floor(ms / 60_000), (ms % 60_000) / 1000]
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`
}
/** A transaction was taken and not mined in time. */
export const syncTimeout = (ms: number, hash: string): RpcError =>
  new RpcError(CODE.syncTimeout, `The transaction was added to the transaction pool but wasn't processed in ${goDuration(ms)}`, hash)
export const invalidParams = (message: string): RpcError => new RpcError(CODE.invalidParams, message)
/** A built-in tracer that the operator does not allow. */
export const tracerNotAllowed = (tracer: string, allowed: readonly string[]): RpcError =>
  new RpcError(CODE.server, `tracer ${tracer} is not allowed on this node; allowed: ${allowed.length === 0 ? 'none' : allowed.join(', ')}`)
/** JavaScript where the operator does not allow it. */
export const jsTracersOff = (): RpcError => new RpcError(CODE.server, 'JavaScript tracers are not allowed on this node')
/** A transaction was sent to a node that makes no blocks and forwards to none. */
export const makesNoBlocks = (): RpcError =>
  new RpcError(CODE.server, 'this node makes no blocks and forwards transactions to no other node: set evm.forward_url')

/** Why a forwarded request did not get an answer of the other node; the URL is not for clients. */
const FORWARD_FAILURES: Readonly<Record<ForwardFailure, readonly [code: number, message: string]>> = {
  busy: [CODE.limitExceeded, 'node is busy: evm.forward_max_in_flight requests wait for the node of evm.forward_url'],
  unreachable: [CODE.server, 'the node of evm.forward_url cannot be reached: the request was not sent'],
  timeout: [CODE.server, 'the node of evm.forward_url did not answer within evm.forward_timeout: it may have taken the request'],
  unusable: [CODE.server, 'the node of evm.forward_url gave no usable answer: it may have taken the request'],
  loop: [CODE.server, 'another node forwarded this request: evm.forward_url of the nodes forms a loop'],
}

/** A validator did not answer a transaction that was redirected to it. */
export const ownerSilent = (validator: string, hash: string): RpcError =>
  new RpcError(
    CODE.server,
    `validator ${validator} gave no usable answer within consensus.redirect_timeout; transaction ${hash} may be known to it`,
    hash,
  )

/** The client of a request has left, which ends its wait; no client gets this. */
export const clientGone = (): CoreError => new CoreError('cancelled', 'the client has left')
/** A request that was to be forwarded got no answer. */
export const forwardFailed = (failure: ForwardFailure): RpcError => new RpcError(...FORWARD_FAILURES[failure])
/** The error that the node answered with to which a request was forwarded. */
export const forwardedError = ({ code, message, data }: ForwardedError): RpcError =>
  new RpcError(code, message, data, code === CODE.reverted ? 'execution_reverted' : 'jsonrpc_error')
/** An option of a trace that nothing reads, where `evm.strict_trace_options` refuses those. */
export const unknownTraceOption = (what: string): RpcError => new RpcError(CODE.invalidParams, what)
/** The listeners are open before the stores are. */
export const nodeIsStarting = (): RpcError => new RpcError(CODE.server, 'node is starting')
/** A request that needs a token or JWT, and came without a good one. */
export const unauthorized = (why: string): RpcError => new RpcError(CODE.server, `unauthorized: ${why}`)
/** A client that sends more than it may: over HTTP with status 429. */
export const tooManyRequests = (): RpcError => new RpcError(CODE.limitExceeded, 'too many requests')
/** So many bytes of requests are in memory that this one found no room. */
export const noRoom = (): RpcError => new RpcError(CODE.limitExceeded, 'server busy: too many bytes of requests are being served')
/** As {@link noRoom}, where one client has as many as it may. */
export const noRoomForClient = (): RpcError =>
  new RpcError(CODE.limitExceeded, 'server busy: too many bytes of requests of one client (evm.max_share_per_client)')
/** A request outside the limits of this node. */
export const limitExceeded = (message: string): RpcError => new RpcError(CODE.limitExceeded, message)
/** The client has reached its share of a limit. */
export const overShare = (what: string, { most }: { readonly most: number }): RpcError =>
  limitExceeded(`too many ${what} of one client: at most ${most} (evm.max_share_per_client)`)
export const responseTooLarge = (): RpcError => new RpcError(CODE.responseTooLarge, 'response too large')
/** A defect of this program: the client learns nothing of it. */
const internalError = (): RpcError => new RpcError(CODE.internal, 'internal error', undefined, 'panic')

/** Errors of this layer for the docs: one of each kind that it makes, and when. */
export const protocolErrors = (): [RpcError, string][] => [
  [parseError(), 'The body is not JSON, or is nested too deeply.'],
  [invalidRequest(), 'The request is not one of JSON-RPC 2.0; `empty batch` and `batch too large` are others of this code.'],
  [methodNotFound('METHOD'), 'No such method, or its namespace is not served.'],
  [notServed('METHOD', 'OTHER'), 'A method of go-ethereum that is left out on purpose.'],
  [chainDisabled('METHOD'), 'A method of the namespace `chain` that is not enabled, known or not; `data` is `legacy_chain_deprecated`.'],
  [noEvmAddress('ACCOUNT'), 'chain_getEVMAddress of a text that is no account of this chain.'],
  [invalidParams('invalid argument N: NAME: REASON'), 'A parameter is missing, one too many, or not of its type.'],
  [tracerNotAllowed('NAME', ['NAMES']), 'A built-in tracer that `evm.trace_allowed_tracers` leaves out.'],
  [
    unknownTraceOption('unknown option "NAME"; did you mean "OPTION"?'),
    'An option of a trace is not known, and `evm.strict_trace_options` is true.',
  ],
  [jsTracersOff(), '`evm.trace_allow_js_tracers` is false.'],
  [nodeIsStarting(), 'The node opens its stores and replays their log. Retry soon, or poll `/ready`.'],
  [
    limitExceeded('the limit, named with its value'),
    'State overrides over `evm.max_state_override_accounts` or `evm.max_state_override_slots`, a request over `evm.max_request_values`, or filters or subscriptions of one client over `evm.max_share_per_client`.',
  ],
  [
    unauthorized('REASON'),
    'The listener, or the namespace of the method, needs a token or JWT (`evm.auth_token_file`, `evm.auth_jwt_file`); HTTP status 401.',
  ],
  [tooManyRequests(), 'An address sent more than `evm.ip_rate_limit_rps` and `evm.ip_rate_limit_burst` let through; HTTP status 429.'],
  [
    noRoomForClient(),
    'The connections of the client hold its share of `evm.max_concurrent_request_bytes`; a WebSocket message has waited for `evm.ws_admission_timeout`, and the connection ends (1013). Over HTTP: status 429.',
  ],
  [
    noRoom(),
    'A WebSocket message waited for `evm.ws_admission_timeout` under `evm.max_concurrent_request_bytes`; the connection ends (1013). Over HTTP: status 429.',
  ],
  [serverError('filter not found'), 'No such filter, or no client polled it for `evm.filter_timeout`.'],
  [
    serverError('filter overflowed'),
    'More happened than a filter keeps: 10,000 results or 64 MiB. The error is returned once, and the filter is removed.',
  ],
  [serverError('subscription not found'), 'The connection has no such subscription.'],
  [
    syncTimeout(20_000, '0xHASH'),
    'A transaction of eth_sendRawTransactionSync is in the pool and was not mined in time; `data` is its hash.',
  ],
  [makesNoBlocks(), 'A transaction was sent to `hearth start` without `evm.forward_url`, which has no use for it.'],
  [forwardFailed('busy'), 'As many requests as may be forwarded at the same time wait for an answer.'],
  [forwardFailed('unreachable'), 'No connection to the node of `evm.forward_url` could be opened; the log says why.'],
  [forwardFailed('timeout'), 'A forwarded request timed out. Sending the same transaction again does no harm.'],
  [forwardFailed('unusable'), 'The connection ended early, or the answer was not one of JSON-RPC; the log says more.'],
  [forwardFailed('loop'), 'The request came from a node whose `evm.forward_url` leads here, and this node forwards too.'],
  [
    ownerSilent('ADDRESS', '0xHASH'),
    'A transaction was redirected to a validator (`consensus.redirect`), which did not answer; `data` is its hash. Sending it again does no harm.',
  ],
  [responseTooLarge(), 'The answers to a batch outgrew `evm.batch_response_max_size`.'],
  [internalError(), 'A defect of this node; its log says more.'],
]

/**
 * Any failure of a handler as a JSON-RPC error; `report` gets a defect of this program, which is
 * hidden from the client.
 */
export function toRpcError(e: unknown, report: (e: unknown) => void): RpcError {
  if (e instanceof RpcError) return e
  if (e instanceof PeerError) return forwardedError({ code: e.code, message: e.said, data: e.data })
  if (e instanceof CoreError) {
    // What is hidden from the client is in the log.
    if (e.kind === 'internal' || e.kind === 'store' || e.public !== undefined) report(e)
    const { code, errorClass } = CORE_ERRORS[e.kind]
    return new RpcError(code, e.public ?? e.message, e.data, errorClass)
  }
  report(e)
  return internalError()
}
