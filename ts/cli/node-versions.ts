// The dates on which releases of Node get their last fixes, as nodejs.org plans them. V8 is part of
// Node, and a hostile script needs a fault in V8.

/** The day on which a major version of Node gets its last fix, as YYYY-MM-DD. */
export const NODE_ENDS: Readonly<Record<number, string>> = {
  20: '2026-04-30',
  21: '2024-06-01',
  22: '2027-04-30',
  23: '2025-06-01',
  24: '2028-04-30',
  25: '2026-06-01',
  26: '2029-04-30',
}

/**
 * The day on which a version of Node got its last fix, if that has passed; undefined for a
 * supported or unknown version.
 */
export function nodeEnded(version = process.versions.node, now = new Date()): string | undefined {
  const end = NODE_ENDS[Number(version.split('.')[0])]
  return end !== undefined && now.toISOString().slice(0, 10) > end ? end : undefined
}
