// The help of one command, on one screen; every setting only with --help-all.
import { helpLines, shortHelp } from '../config/index.ts'
import { columns, joined, WIDTH, wrapped } from './columns.ts'
import type { Command, JsonReport } from './command.ts'

/** An example of a report, a member a line. */
export function exampleLines({ example }: JsonReport): string[] {
  const members = Object.entries(example).map(([name, value]) => `  "${name}": ${JSON.stringify(value)}`)
  return ['{', ...members.map((member, i) => (i < members.length - 1 ? `${member},` : member)), '}']
}

/**
 * Help for one command, typed as `line`: its flags, and the settings that it reads; `all` adds
 * every other one.
 */
export function commandHelp(line: string, command: Command, all: boolean): string {
  const { doc, more = [], report, files, settings = [] } = command
  const names = files === undefined ? '' : ` ${files.max > 1 ? `${files.name}…` : files.name}`
  const flags = Object.entries(command.flags).map(([name, flag]) => {
    const choices = flag.choices === undefined ? '' : `[=${flag.choices.join('|')}]`
    const takes = flag.value === undefined ? choices : ` ${flag.value}`
    return [`--${name}${takes}`, flag.doc] as const
  })
  const few = settings.map(shortHelp).map((setting) => [setting.flag, setting.doc] as const)
  const read = few.length === 0 ? [] : ['', 'settings that it reads, with their defaults:', ...columns(few)]
  return joined([
    `usage: ${line} [FLAGS]${names}`,
    '',
    ...wrapped(doc, WIDTH),
    ...(more.length === 0 ? [] : ['', ...more]),
    '',
    'flags:',
    ...columns(flags),
    ...(report === undefined ? [] : ['', 'what --json prints:', ...exampleLines(report), ...report.notes]),
    ...(all ? ['', 'settings (also as HEARTH_… variables and in config/node.toml of the data directory):', ...helpLines()] : read),
    ...(all ? [] : ['', `every setting: ${line} --help-all, or hearth config list`]),
  ])
}
