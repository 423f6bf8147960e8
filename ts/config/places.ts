// The position of each key of a TOML document. smol-toml, which reads the values, gives none;
// toml-eslint-parser gives the syntax tree.
import { type AST, getStaticTOMLValue, ParseError, parseTOML } from 'toml-eslint-parser'

/** A place in a text; both count from 1. */
export interface Place {
  readonly line: number
  readonly column: number
  /** Last line of the value; that of the key for a section. */
  readonly lastLine: number
}

type Entry = AST.TOMLKeyValue | AST.TOMLTable

/** Adds the keys below a path. */
function add(entries: readonly Entry[], prefix: string, places: Map<string, Place>): void {
  for (const entry of entries) {
    const { start, end } = entry.key.loc
    const names = getStaticTOMLValue(entry.key)
    const path = [...(prefix === '' ? [] : [prefix]), ...names].join('.')
    const isSection = entry.type === 'TOMLTable'
    const lastLine = (isSection ? end : entry.value.loc.end).line
    // Later elements of an array of tables have the same keys.
    if (!places.has(path)) places.set(path, { line: start.line, column: start.column + 1, lastLine })
    if (isSection) add(entry.body, path, places)
    else if (entry.value.type === 'TOMLInlineTable') add(entry.value.body, path, places)
  }
}

/**
 * The place of every key and section of a TOML document, by dotted path; none of a text that is not
 * TOML.
 */
export function keyPlaces(text: string): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>()
  try {
    // smol-toml accepts a byte order mark, toml-eslint-parser a space in its place.
    add(parseTOML(text.replace(/^\uFEFF/, ' ')).body[0].body, '', places)
  } catch (e) {
    if (!(e instanceof ParseError)) throw e
  }
  return places
}
