// Bounds of the state of filters and subscriptions.

/** Notifications that wait for one connection, or results in one filter. */
export const WAITING_MAX = 10_000

/** Bytes of them. */
export const WAITING_BYTES_MAX = 64 * 1024 * 1024

/** Filters of the node. */
export const FILTERS_MAX = 10_000

/** Bytes of the results in all filters together. */
export const FILTERS_BYTES_MAX = 512 * 1024 * 1024

/** What operators set. */
export interface FollowLimits {
  /** A filter without requests is kept this long, in milliseconds. */
  readonly filterIdleMs: number
  /** Subscriptions to new heads, all connections together. */
  readonly heads: number
  /** Subscriptions to logs, all connections together. */
  readonly logs: number
  /** Part of these limits, and of those of filters, that one client may take; 1 where absent. */
  readonly share?: number
}
