// The table of tracers in TypeScript, written from that of the core: settings are read before the
// core is loaded.

/** The file, below the folder of the project. */
export const TRACER_TABLE_FILE = 'ts/config/tables/tracers.ts'

/** Longest line of a row; a longer list of options has a line for each. */
const LINE_MAX = 140

interface Row {
  readonly name: string
  readonly options: readonly string[]
  readonly baked: string | null
}

const text = (value: string | null) => (value === null ? 'null' : `'${value}'`)

function row({ name, options, baked }: Row): string {
  const [head, tail] = [`  { name: ${text(name)}, options: [`, `], baked: ${text(baked)} },`]
  const line = `${head}${options.map(text).join(', ')}${tail}`
  if (line.length <= LINE_MAX) return line
  return ['  {', `    name: ${text(name)},`, `    options: [${options.map(text).join(', ')}],`, `    baked: ${text(baked)},`, '  },'].join(
    '\n',
  )
}

/** Its text, from the core's table as JSON. */
export const tracerTableText = (table: string): string =>
  [
    '// The built-in tracers. `npm run docs` writes them from the table in crates/tracers/src/table.rs.',
    '',
    '/** A built-in tracer. */',
    'export interface TracerRow {',
    '  /** The name in requests. */',
    '  readonly name: string',
    '  /** Names of the options in `tracerConfig`. */',
    '  readonly options: readonly string[]',
    '  /** The field of the bake configuration that may name the tracer; null for none. */',
    "  readonly baked: 'tracers' | 'furtherTracers' | null",
    '}',
    '',
    '/** All of them. */',
    'export const TRACER_TABLE: readonly TracerRow[] = [',
    ...(JSON.parse(table) as Row[]).map(row),
    ']',
    '',
  ].join('\n')
