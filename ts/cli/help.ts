// The texts of --help.
import { helpLines } from '../config/index.ts'
import type { Command } from './command.ts'

/** Help for the program, or for a family of commands: the commands behind the words `before`. */
export function listHelp(before: string, commands: readonly { readonly name: string; readonly doc: string }[]): string {
  const width = Math.max(...commands.map((c) => c.name.length))
  const lines = commands.map((c) => `  ${c.name.padEnd(width)}  ${c.doc}`)
  return [
    `usage: ${before} COMMAND [FLAGS]`,
    '',
    'commands:',
    ...lines,
    '',
    `${before} COMMAND --help prints its flags and every setting.`,
    '',
  ].join('\n')
}

/** Help for one command, typed as `line`: its flags and the settings, which work on every command. */
export function commandHelp(line: string, command: Command): string {
  const flags = Object.entries(command.flags).flatMap(([name, { value, doc }]) => [
    `  --${name}${value === undefined ? '' : ` ${value}`}`,
    `      ${doc}`,
  ])
  const files = command.files === undefined ? '' : ` ${command.files.max > 1 ? `${command.files.name}…` : command.files.name}`
  const settings = ['settings (also as HEARTH_… variables and in config/node.toml of the home):', ...helpLines()]
  const more = command.more === undefined ? [] : ['', ...command.more.map((text) => `  ${text}`)]
  return [`usage: ${line} [FLAGS]${files}`, '', command.doc, ...more, '', 'flags:', ...flags, '', ...settings, ''].join('\n')
}
