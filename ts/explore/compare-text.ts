// A comparison of two trees as text.
import type { ComparedCall, Comparison, Difference } from './compare.ts'
import type { Names } from './names.ts'
import { failure, grouped, target } from './text.ts'
import type { Frame } from './tree.ts'

const WORDS: Readonly<Record<Difference, string>> = {
  input: 'arguments',
  value: 'value',
  output: 'output',
  error: 'outcome',
  gas: 'gas',
  events: 'events',
}

/** The result of a call: its failure, what it returned, or nothing. */
function result(frame: Frame, names: Names): string {
  if (frame.error !== undefined) return `✗ ${failure(frame, names)}`
  return frame.output === '0x' ? 'no data' : names.bytes(frame.output)
}

function callLine({ depth, a, b, differs }: ComparedCall, names: Names): string {
  const frame = (a ?? b) as Frame
  const sign = b === undefined ? '-' : a === undefined ? '+' : differs.length === 0 ? '=' : '≠'
  const line = `${sign} ${'  '.repeat(depth)}[${frame.id}] ${frame.kind} ${target(frame, names)}`
  if (a === undefined || b === undefined || differs.length === 0) return line
  const parts = differs.filter((one) => one !== 'gas').map((one) => WORDS[one])
  if (differs.includes('input')) parts.push(`now ${target(b, names)}`)
  if (differs.includes('output') || differs.includes('error')) parts.push(`${result(a, names)} → ${result(b, names)}`)
  if (differs.includes('gas')) parts.push(`gas ${grouped(a.gasUsed)} → ${grouped(b.gasUsed)}`)
  return `${line}  ${parts.join(', ')}`
}

/** The calls that differ, below a line of sums; `first` and `second` name the two traces. */
export function comparisonText(comparison: Comparison, names: Names, [first, second]: readonly [string, string], width?: number): string {
  const { calls, onlyA, onlyB, changed, isEqual } = comparison
  if (isEqual) return 'the traces are equal: calls, data, results, events and gas\n'
  const top = calls[0] as ComparedCall
  const gas = `gas ${grouped(top.a?.gasUsed ?? 0)} → ${grouped(top.b?.gasUsed ?? 0)}`
  const lines = calls
    .filter(({ a, b, differs }) => a === undefined || b === undefined || differs.length > 0)
    .map((call) => callLine(call, names))
  const cut = (line: string): string => (width === undefined || line.length <= width ? line : `${line.slice(0, Math.max(1, width - 1))}…`)
  const sums = `${grouped(onlyA)} calls only in ${first} (-), ${grouped(onlyB)} only in ${second} (+), ${grouped(changed)} in both differ (≠); ${gas}`
  return `${[sums, ...lines.map(cut)].join('\n')}\n`
}
