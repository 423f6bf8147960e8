// Medians, spreads and the table that every bench prints.

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** `median (lowest to highest)`. */
export const spread = (values, digits = 1) =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`

/** Every table printed so far, for the page that `--write` makes. */
export const printed = []

/**
 * Prints rows of equal length under a heading, with aligned columns. `name` is that of the bench; a
 * bench with several tables gives the others a title.
 */
export function table(name, heading, rows, title) {
  printed.push({ name, heading, rows, title })
  if (title !== undefined) console.log(`\n${title}`)
  const all = [heading, ...rows].map((row) => row.map(String))
  const widths = heading.map((_, i) => Math.max(...all.map((row) => row[i].length)))
  for (const row of all) {
    const line = row.map((cell, i) => cell.padEnd(widths[i]))
    console.log(line.join('  ').trimEnd())
  }
}
