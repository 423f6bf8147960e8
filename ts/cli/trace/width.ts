// How lines are cut, and whole numbers of flags.
import { type Parsed, UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'

/** A positive whole number of a flag; undefined where the flag is absent. */
export function countOf({ flags }: Parsed, name: string): number | undefined {
  const text = flags.get(name)
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${name} takes a whole number from 1 on, not ${JSON.stringify(text)}`)
  return Number(text)
}

/** Longest line: of `--width`, else of the terminal; undefined where nothing is cut. */
export const widthOf = (parsed: Parsed, terminal: Terminal): number | undefined =>
  parsed.flags.get('raw') === 'true' ? undefined : (countOf(parsed, 'width') ?? terminal.columns)
