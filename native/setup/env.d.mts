// Types of what tests use of env.mjs.

/** Everything built that outlives a checkout. */
export const CACHE: string
