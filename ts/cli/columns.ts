// Names with their descriptions in two columns: how every --help prints them.

/** Columns of a help text. */
export const WIDTH = 100

/** Columns of names before their descriptions; a longer name stands on a line of its own. */
const NAME_WIDTH_MAX = 30

/** A text as lines, broken between words. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** A name and its description. */
function entry(name: string, doc: string, width: number): string[] {
  const lines = wrapped(doc, WIDTH - width - 4)
  const indent = ' '.repeat(width + 4)
  const [first = '', ...more] = lines
  const begin = name.length <= width ? [`  ${name.padEnd(width)}  ${first}`] : [`  ${name}`, `${indent}${first}`]
  return [...begin, ...more.map((line) => `${indent}${line}`)]
}

/** Names and descriptions in two columns. */
export function columns(rows: readonly (readonly [name: string, doc: string])[]): string[] {
  const width = Math.max(0, ...rows.map(([name]) => name.length).filter((length) => length <= NAME_WIDTH_MAX))
  return rows.flatMap(([name, doc]) => entry(name, doc, width))
}

/** Lines as a text. */
export const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

/** Help for the program, or for a family of commands: the commands behind the words `before`. */
export function listHelp(before: string, commands: readonly (readonly [name: string, doc: string])[]): string {
  return joined([
    `usage: ${before} COMMAND [FLAGS]`,
    '',
    'commands:',
    ...columns(commands),
    '',
    `${before} COMMAND --help prints the flags of a command; hearth config list prints every setting.`,
  ])
}
