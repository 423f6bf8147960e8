// "Did you mean": the known word nearest to a mistyped one.

/** Edits between two words: insertions, deletions, replacements. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replace, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}

/** Words longer than this are not compared: the table is quadratic, and no key is so long. */
const WORD_LENGTH_MAX = 100

/**
 * Edits that a mistyped word may have: a third of its letters, but two if it is longer than that.
 */
const editsMax = (word: string): number => Math.min(word.length - 1, Math.max(2, Math.floor(word.length / 3)))

/** The known word with the fewest edits; undefined where none is near. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const asked = word.slice(0, WORD_LENGTH_MAX).toLowerCase()
  let best: string | undefined
  let least = editsMax(asked) + 1
  for (const candidate of known) {
    const edits = distance(asked, candidate.toLowerCase())
    if (edits < least) {
      least = edits
      best = candidate
    }
  }
  return best
}
