// Gas by line as text.
import { printable } from '../printable.ts'
import { grouped } from '../text.ts'
import type { GasByLine, Line } from './views.ts'

/** Lines that are printed. */
export const LINES_SHOWN = 50

/** A line by path and number. */
export const lineName = ({ path, line }: Pick<Line, 'path' | 'line'>): string => `${printable(path)}:${line}`

/** Gas by line, the most first; `textOf` gives the text of a line. */
export function linesText(
  { lines, none }: GasByLine,
  textOf: (path: string, line: number) => string | undefined,
  { executionGas, stepsGas }: { executionGas: number; stepsGas: number },
): string {
  const row = (gas: number, steps: string, name: string, text = ''): string => {
    const share = executionGas === 0 ? 0 : (100 * gas) / executionGas
    return `${grouped(gas).padStart(12)}  ${share.toFixed(1).padStart(5)} %  ${steps.padStart(13)}  ${name}${text === '' ? '' : `  ${printable(text.trim())}`}`
  }
  const stepsOf = (steps: number): string => `${grouped(steps)} ${steps === 1 ? 'step ' : 'steps'}`
  const rows = lines.slice(0, LINES_SHOWN).map((line) => row(line.gas, stepsOf(line.steps), lineName(line), textOf(line.path, line.line)))
  if (lines.length > LINES_SHOWN) rows.push(`… ${lines.length - LINES_SHOWN} more`)
  if (none.steps > 0) rows.push(row(none.gas, stepsOf(none.steps), 'no source'))
  const rest = executionGas - stepsGas
  if (rest > 0) rows.push(row(rest, '', 'precompiled contracts and deposits of code'))
  return `${rows.join('\n')}\n`
}
