// The texts of --help: one screen per command; every setting only with --all.
import { helpLines, shortHelp } from '../config/index.ts'
import type { Command } from './command.ts'

/** Columns of a help text. */
const WIDTH = 100

/** Columns of names before their descriptions; a longer name stands on a line of its own. */
const NAME_WIDTH_MAX = 30

/** A text as lines, broken between words. */
function wrapped(text: string, width: number): string[] {
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
function table(rows: readonly (readonly [name: string, doc: string])[]): string[] {
  const width = Math.max(0, ...rows.map(([name]) => name.length).filter((length) => length <= NAME_WIDTH_MAX))
  return rows.flatMap(([name, doc]) => entry(name, doc, width))
}

const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

/** Help for the program, or for a family of commands: the commands behind the words `before`. */
export function listHelp(before: string, commands: readonly { readonly name: string; readonly doc: string }[]): string {
  return text([
    `usage: ${before} COMMAND [FLAGS]`,
    '',
    'commands:',
    ...table(commands.map(({ name, doc }) => [name, doc])),
    '',
    `${before} COMMAND --help prints the flags of a command; hearth config list prints every setting.`,
  ])
}

/**
 * Help for one command, typed as `line`: its flags, and the settings that it reads; `all` adds
 * every other one.
 */
export function commandHelp(line: string, command: Command, all: boolean): string {
  const { doc, more = [], files, settings = [] } = command
  const names = files === undefined ? '' : ` ${files.max > 1 ? `${files.name}…` : files.name}`
  const flags = Object.entries(command.flags).map(([name, flag]) => {
    const choices = flag.choices === undefined ? '' : `[=${flag.choices.join('|')}]`
    const takes = flag.value === undefined ? choices : ` ${flag.value}`
    return [`--${name}${takes}`, flag.doc] as const
  })
  const few = settings.map(shortHelp).map((setting) => [setting.flag, setting.doc] as const)
  const read = few.length === 0 ? [] : ['', 'settings that it reads, with their defaults:', ...table(few)]
  return text([
    `usage: ${line} [FLAGS]${names}`,
    '',
    ...wrapped(doc, WIDTH),
    ...(more.length === 0 ? [] : ['', ...more]),
    '',
    'flags:',
    ...table(flags),
    ...(all ? ['', 'settings (also as HEARTH_… variables and in config/node.toml of the data directory):', ...helpLines()] : read),
    ...(all ? [] : ['', `every setting: ${line} --help-all, or hearth config list`]),
  ])
}
