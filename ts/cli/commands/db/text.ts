// How the reports of `hearth db` look as text.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** Bytes in the unit that reads best: `0 B`, `17.3 MiB`. */
export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

/** Rows under a heading, in columns; the first column is flush left, the others flush right. */
export function columns(heading: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [heading, ...rows.map((row) => row.map(String))]
  const width = heading.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  const cell = (text: string, column: number): string => (column === 0 ? text.padEnd(width[0] ?? 0) : text.padStart(width[column] ?? 0))
  return lines.map((line) => `${line.map(cell).join('  ').trimEnd()}\n`).join('')
}

/** Names and values, one a line. */
export function pairs(rows: readonly (readonly [string, string | number])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('')
}

/** What stands first where a node has the home, so that its newest snapshot was read. */
export const besideNode = (snapshot: number | null): string =>
  snapshot === null ? '' : `a node runs on this data directory: this is its snapshot of height ${snapshot}\n`

/** That there are more than those shown. */
export const moreText = (all: number, shown: number): string[] => (all > shown ? [`… and ${all - shown} more`] : [])
