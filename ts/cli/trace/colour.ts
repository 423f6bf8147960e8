// Colours of trees on a terminal. They are added to lines that are cut already: no escape is ever
// cut.
import type { Parsed } from '../args.ts'
import { UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'

const ESCAPE = '\u001b['

const painted = (code: number, text: string): string => (text === '' ? '' : `${ESCAPE}${code}m${text}${ESCAPE}0m`)
const [red, green, yellow, cyan, dim] = [31, 32, 33, 36, 2].map(
  (code) =>
    (text: string): string =>
      painted(code, text),
) as [(text: string) => string, (text: string) => string, (text: string) => string, (text: string) => string, (text: string) => string]

/** When output has colours. */
const MODES = ['auto', 'always', 'never'] as const

/** Whether output has colours; `NO_COLOR` (no-color.org) switches off the colours of a terminal. */
export function hasColours({ flags }: Parsed, { columns }: Terminal): boolean {
  const mode = flags.get('color') ?? 'auto'
  if (!MODES.some((known) => known === mode)) throw new UsageError(`--color takes ${MODES.join(', ')}, not ${JSON.stringify(mode)}`)
  return mode === 'always' || (mode === 'auto' && columns !== undefined && !process.env.NO_COLOR)
}

/** A line of a tree, of the failure above it, or of a comparison. */
export function colouredLine(line: string): string {
  const role = /^(arose|passed on|replaced|dropped)( +\[[\d.]+\])(.*)$/s.exec(line)
  if (role !== null) return `${red(role[1] as string)}${dim(role[2] as string)}${role[3]}`
  const call = /^([ │├└─]*)(\[[\d,]+\]) ([A-Z0-9]+) (.*?)( {2}✗ .*)?$/s.exec(line)
  if (call !== null) {
    const [, branch = '', gas = '', kind = '', target = '', mark = ''] = call
    return `${dim(branch)}${dim(gas)} ${cyan(kind)} ${target}${red(mark)}`
  }
  const event = /^([ │├└─]*)(emit) (.*)$/s.exec(line)
  if (event !== null) return `${dim(event[1] as string)}${yellow(event[2] as string)} ${event[3]}`
  const gives = /^([ │├└─]*)(← .*)$/s.exec(line)
  if (gives !== null) return `${dim(gives[1] as string)}${dim(gives[2] as string)}`
  const heading = /^(\S+ {2}.*?)( {3}FAILED)( {3}gas .*)$/s.exec(line)
  if (heading !== null) return `${heading[1]}${red(heading[2] as string)}${heading[3]}`
  if (/^- .*\[[\d.]+\]/.test(line)) return red(line)
  if (/^\+ .*\[[\d.]+\]/.test(line)) return green(line)
  return /^≠ /.test(line) ? yellow(line) : line
}

/** A text line by line. */
export const coloured = (text: string): string => text.split('\n').map(colouredLine).join('\n')
