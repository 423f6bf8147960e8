// Why a query has no answer: the codes of gRPC (https://grpc.io/docs/guides/status-codes) and their
// statuses over HTTP.

/** The codes that queries end with. */
export const CODES = {
  ok: 0,
  invalidArgument: 3,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const

/** HTTP statuses by code, as gRPC gateways have them. */
const STATUSES: Readonly<Record<number, number>> = {
  [CODES.ok]: 200,
  [CODES.invalidArgument]: 400,
  [CODES.notFound]: 404,
  [CODES.resourceExhausted]: 429,
  [CODES.unimplemented]: 501,
  [CODES.unavailable]: 503,
  [CODES.unauthenticated]: 401,
}

/** The HTTP status of a code. */
export const statusOf = (code: number): number => STATUSES[code] ?? 500

/** A query that ends without an answer. */
export class QueryFailure extends Error {
  override name = 'QueryFailure'
  readonly code: number
  /** The height of the query; absent if it has none. */
  readonly height: string | undefined

  constructor(code: number, message: string, height?: string) {
    super(message)
    this.code = code
    this.height = height
  }
}

export const invalid = (message: string): QueryFailure => new QueryFailure(CODES.invalidArgument, message)
export const notImplemented = (): QueryFailure => new QueryFailure(CODES.unimplemented, 'Not Implemented')
