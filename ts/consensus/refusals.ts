// What an error of CometBFT's RPC means. CometBFT gives every failure of a method the code -32603
// (rpc/jsonrpc/types/types.go), and only a text says which one it is: the table below is the one
// place that reads it.

/** Kind of a refusal; `other` is a failure of CometBFT itself. */
export type RefusalKind = 'in_cache' | 'mempool_full' | 'too_large' | 'app_gone' | 'not_found' | 'bad_request' | 'other'

/** The error of a response, as CometBFT writes it. */
export interface RpcError {
  readonly code?: number
  readonly message?: string
  readonly data?: string
}

/** Codes of JSON-RPC for a request that is wrong in itself. */
const BAD_REQUEST_CODES: readonly number[] = [-32600, -32601, -32602]

/** Texts by kind; the first match counts. */
const TEXTS: readonly (readonly [RegExp, RefusalKind])[] = [
  // mempool/mempool.go: ErrTxInCache.
  [/already exists in cache/, 'in_cache'],
  // mempool/errors.go: ErrMempoolIsFull.
  [/mempool is full/, 'mempool_full'],
  // mempool/errors.go: ErrTxTooLarge.
  [/tx too large/i, 'too_large'],
  // abci/client: the connection to the application is gone, or not there yet.
  [/not ready|not running|EOF|connection|client/i, 'app_gone'],
  // rpc/core/tx.go: Tx.
  [/not found/i, 'not_found'],
  // rpc/core/env.go: validatePage, getHeight; rpc/core/tx.go: TxSearch; unreadable parameters.
  [/height|page|hash|query|invalid|parse/i, 'bad_request'],
]

/** Message and data of an error as one text. */
export const textOf = ({ message, data }: RpcError): string => [message, data].filter(Boolean).join(' ')

/** The kind of an error. */
export function refusalKind(error: RpcError): RefusalKind {
  if (error.code !== undefined && BAD_REQUEST_CODES.includes(error.code)) return 'bad_request'
  const text = textOf(error)
  return TEXTS.find(([pattern]) => pattern.test(text))?.[1] ?? 'other'
}
