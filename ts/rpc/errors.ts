// The one table of JSON-RPC errors: each kind of failure and its code.
import { CoreError, type CoreErrorKind } from '../core/error.ts'

/** An error as JSON-RPC sends it. */
export class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number
  readonly data: string | undefined

  constructor(code: number, message: string, data?: string) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** Codes of the JSON-RPC 2.0 specification (section 5.1) and of go-ethereum. */
export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  server: -32000,
  responseTooLarge: -32003,
  /** EIP-1474: a limit of this node. */
  limitExceeded: -32005,
  /** go-ethereum: the EVM reverted, `data` holds the output. */
  reverted: 3,
} as const

/** JSON-RPC code of every kind of failure in the core. */
const CORE_CODES: Readonly<Record<CoreErrorKind, number>> = {
  block_not_found: CODE.server,
  busy: CODE.limitExceeded,
  cancelled: CODE.server,
  closed: CODE.server,
  config: CODE.internal,
  execution: CODE.server,
  execution_failed: CODE.server,
  execution_reverted: CODE.reverted,
  genesis: CODE.internal,
  genesis_not_traceable: CODE.server,
  header_not_found: CODE.server,
  home_empty: CODE.internal,
  home_in_use: CODE.internal,
  home_incompatible: CODE.internal,
  home_not_empty: CODE.internal,
  import: CODE.internal,
  internal: CODE.internal,
  invalid_params: CODE.invalidParams,
  io: CODE.internal,
  limit_exceeded: CODE.limitExceeded,
  not_canonical: CODE.server,
  not_retained: CODE.server,
  store: CODE.internal,
  trace: CODE.server,
  transaction_decode: CODE.server,
  transaction_not_found: CODE.server,
  transaction_rejected: CODE.server,
  unknown_block: CODE.server,
  unsupported: CODE.server,
}

/** Every kind of failure in the core with its code, for the docs. */
export const errorKinds = (): [string, number][] => Object.entries(CORE_CODES)

export const parseError = (): RpcError => new RpcError(CODE.parse, 'parse error')
export const invalidRequest = (message = 'invalid request'): RpcError => new RpcError(CODE.invalidRequest, message)
export const methodNotFound = (method: string): RpcError =>
  new RpcError(CODE.methodNotFound, `the method ${method} does not exist/is not available`)
/** A method of go-ethereum that is left out on purpose. */
export const notServed = (method: string, instead: string): RpcError =>
  new RpcError(CODE.methodNotFound, `the method ${method} does not exist/is not available: use ${instead}`)
export const invalidParams = (message: string): RpcError => new RpcError(CODE.invalidParams, message)
export const responseTooLarge = (): RpcError => new RpcError(CODE.responseTooLarge, 'response too large')

/** Any failure of a handler as a JSON-RPC error; a defect of this program is told to `report` and hidden from the client. */
export function toRpcError(e: unknown, report: (e: unknown) => void): RpcError {
  if (e instanceof RpcError) return e
  if (e instanceof CoreError) {
    if (e.kind === 'internal' || e.kind === 'store') report(e)
    return new RpcError(CORE_CODES[e.kind], e.message, e.data)
  }
  report(e)
  return new RpcError(CODE.internal, 'internal error')
}
