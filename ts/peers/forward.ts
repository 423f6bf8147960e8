// Forwards single requests to another node, with bounds on time, size and number.
import { keptPost } from './kept.ts'
import { NoAnswer } from './post.ts'
import { canConnect } from './reach.ts'

/** Largest answer that is read, in bytes: a receipt with as many logs as a block can hold fits. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

/** Longest time for a connection that is tried before a request, in milliseconds. */
const CONNECT_MS_MAX = 1000

/** Minimum time between two reports of failures, in milliseconds. */
const REPORT_EVERY_MS = 10_000

/** Codes of failures before a connection was open: the other node saw nothing of the request. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Why a request was not answered by the other node. */
export type ForwardFailure =
  /** As many requests as may wait do so already. */
  | 'busy'
  /** No connection could be opened. */
  | 'unreachable'
  /** No answer within the time limit. */
  | 'timeout'
  /** The connection ended early, or the answer was not one of JSON-RPC. */
  | 'unusable'
  /** The request was forwarded to this node by another one. */
  | 'loop'

/** An error as the other node sent it. */
export interface ForwardedError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** What came of a forwarded request. */
export type Forwarded = { readonly result: unknown } | { readonly error: ForwardedError } | { readonly failure: ForwardFailure }

/**
 * Forwards a request; `waitMs` is added to the time limit, and `signal` ends the request, which
 * counts as no failure of the other node. Never rejects.
 */
export type Forward = (method: string, params: readonly unknown[], waitMs?: number, signal?: AbortSignal) => Promise<Forwarded>

/** Options of forwarding. */
export interface ForwardOptions {
  readonly url: string
  /** Time limit of one request, in milliseconds. */
  readonly timeoutMs: number
  /** Requests that may wait for an answer at the same time. */
  readonly inFlightMax: number
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Where nothing was answered for so long, a connection is tried first, so that a node that is
   * away gets no request; in milliseconds.
   */
  readonly tryAfterMs?: number
  /**
   * Called with the reason of failed requests, at most once in ten seconds; the reason never
   * contains the URL.
   */
  readonly onFailure?: (reason: string, failures: number) => void
}

/** Reads an answer of JSON-RPC 2.0; undefined where it is none. */
function read(answer: unknown, id: number): Forwarded | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined
  const { id: answered, result, error } = answer as { id?: unknown; result?: unknown; error?: unknown }
  if (error !== undefined && error !== null) {
    if (typeof error !== 'object') return undefined
    const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown }
    if (!Number.isSafeInteger(code) || typeof message !== 'string') return undefined
    return { error: { code: code as number, message, ...(data === undefined || data === null ? {} : { data }) } }
  }
  return answered === id && result !== undefined ? { result } : undefined
}

/** The failure, and the words for the operator's log. */
function failureOf(e: unknown): readonly [ForwardFailure, string] {
  if (!(e instanceof NoAnswer)) return ['unusable', e instanceof Error ? e.message : String(e)]
  if (e.timedOut) return ['timeout', 'no answer within the time limit']
  const isUnsent = e.code !== undefined && NOT_CONNECTED.has(e.code)
  return [isUnsent ? 'unreachable' : 'unusable', e.message]
}

/** Makes what forwards requests to a node. */
export function forwardTo({ url, timeoutMs, inFlightMax, headers, tryAfterMs, onFailure }: ForwardOptions): Forward {
  let inFlight = 0
  let lastId = 0
  let failures = 0
  let reportedAt = Number.NEGATIVE_INFINITY
  let answeredAt = Number.NEGATIVE_INFINITY
  const post = keptPost(url, headers)

  const failed = (failure: ForwardFailure, reason: string): Forwarded => {
    failures++
    const now = performance.now()
    if (now - reportedAt >= REPORT_EVERY_MS) {
      reportedAt = now
      onFailure?.(reason, failures)
      failures = 0
    }
    return { failure }
  }

  return async (method, params, waitMs = 0, signal) => {
    if (inFlight >= inFlightMax) return failed('busy', `${inFlightMax} requests wait for an answer`)
    inFlight++
    const id = ++lastId
    const options = { timeoutMs: timeoutMs + waitMs, answerBytesMax: ANSWER_BYTES_MAX, ...(signal === undefined ? {} : { signal }) }
    try {
      const isAway =
        tryAfterMs !== undefined &&
        performance.now() - answeredAt > tryAfterMs &&
        !(await canConnect(url, Math.min(timeoutMs, CONNECT_MS_MAX)))
      if (isAway) return failed('unreachable', 'no connection can be opened')
      const answer = await post(JSON.stringify({ jsonrpc: '2.0', id, method, params }), options)
      answeredAt = performance.now()
      return read(answer, id) ?? failed('unusable', 'its answer is not one of JSON-RPC')
    } catch (e) {
      if (signal?.aborted === true) return { failure: 'unusable' }
      return failed(...failureOf(e))
    } finally {
      inFlight--
    }
  }
}
