// Until when the releases of Node get fixes, as nodejs.org has planned it. V8 is part of Node: a fault in it is what a hostile script needs.

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

/** The day on which a version of Node got its last fix, where that has passed; undefined where it gets more, or is not known. */
export function nodeEnded(version = process.versions.node, now = new Date()): string | undefined {
  const end = NODE_ENDS[Number(version.split('.')[0])]
  return end !== undefined && now.toISOString().slice(0, 10) > end ? end : undefined
}
