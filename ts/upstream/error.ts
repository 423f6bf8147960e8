// Errors of other nodes, and after which of them another attempt may help.
import { PeerError } from '../peers/error.ts'

/** Waits between attempts begin with this, double, and end with that, in milliseconds. */
export const BACKOFF_MS = 100
export const BACKOFF_MS_MAX = 3_000

/**
 * Codes of errors that pass: limits (EIP-1474), and what hosted nodes answer while they are busy.
 */
const PASSING_CODES: ReadonlySet<unknown> = new Set([-32005, -32016, -32097, 429])

/** Whether another attempt may succeed after an error with this code. */
export const isPassing = (code: unknown): boolean => PASSING_CODES.has(code)

/** The status of HTTP of a client that sends too much: too many requests. */
export const TOO_MANY_REQUESTS = 429

/** An error that an upstream answered with. */
export class UpstreamError extends PeerError {
  override name = 'UpstreamError'
}
