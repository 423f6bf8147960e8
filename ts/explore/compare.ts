// Two trees of calls side by side: which calls both have, which one alone has, and what differs in
// those of both.
import { type Frame, isFrame } from './tree.ts'

/**
 * Pairs of calls that are compared exactly where one call has many: beyond, only equal beginnings
 * and ends are paired.
 */
const PAIRS_MAX = 4_000_000

/** What may differ in a call that both trees have. */
export type Difference = 'input' | 'value' | 'output' | 'error' | 'gas' | 'events'

/** A call of one tree or of both. */
export interface ComparedCall {
  readonly depth: number
  /** Of the first tree; undefined where the second alone has the call. */
  readonly a: Frame | undefined
  readonly b: Frame | undefined
  /** Of calls of both trees; gas alone differs wherever something below does. */
  readonly differs: readonly Difference[]
}

/** Two trees compared. */
export interface Comparison {
  /** In the order of the calls; calls of the first tree alone before those of the second. */
  readonly calls: readonly ComparedCall[]
  readonly onlyA: number
  readonly onlyB: number
  /** Calls of both that differ in more than gas. */
  readonly changed: number
  /** Whether nothing differs, gas included. */
  readonly isEqual: boolean
}

/** What makes two calls the same one: kind, code and function. */
const keyOf = ({ kind, to, input }: Frame): string =>
  `${kind} ${kind.startsWith('CREATE') ? '' : (to ?? '').toLowerCase()} ${kind.startsWith('CREATE') ? '' : input.slice(0, 10)}`

const eventsOf = ({ items }: Frame): string =>
  items.flatMap((item) => (isFrame(item) ? [] : [`${item.address} ${item.topics.join(' ')} ${item.data}`])).join('\n')

function differencesOf(a: Frame, b: Frame): Difference[] {
  const all: readonly (readonly [Difference, boolean])[] = [
    ['input', a.input !== b.input],
    ['value', a.value !== b.value],
    ['output', a.output !== b.output],
    ['error', a.error !== b.error],
    ['gas', a.gasUsed !== b.gasUsed],
    ['events', eventsOf(a) !== eventsOf(b)],
  ]
  return all.flatMap(([name, is]) => (is ? [name] : []))
}

type Pair = readonly [a: Frame | undefined, b: Frame | undefined]

/** The longest common subsequence of what stands between equal beginnings and ends. */
function aligned(a: readonly Frame[], b: readonly Frame[]): Pair[] {
  const [keysA, keysB] = [a.map(keyOf), b.map(keyOf)]
  let begin = 0
  while (begin < a.length && begin < b.length && keysA[begin] === keysB[begin]) begin++
  let end = 0
  while (end < a.length - begin && end < b.length - begin && keysA[a.length - 1 - end] === keysB[b.length - 1 - end]) end++
  const both = (n: number, shift: number): Pair => [a[n], b[n + shift]]
  const [midA, midB] = [a.slice(begin, a.length - end), b.slice(begin, b.length - end)]
  const middle =
    midA.length * midB.length > PAIRS_MAX
      ? [...midA.map((one): Pair => [one, undefined]), ...midB.map((one): Pair => [undefined, one])]
      : common(midA, midB, keysA.slice(begin), keysB.slice(begin))
  const ends = Array.from({ length: end }, (_, i) => both(a.length - end + i, b.length - a.length))
  return [...Array.from({ length: begin }, (_, i) => both(i, 0)), ...middle, ...ends]
}

function common(a: readonly Frame[], b: readonly Frame[], keysA: readonly string[], keysB: readonly string[]): Pair[] {
  const width = b.length + 1
  /** Length of the longest common subsequence from a place of each on. */
  const longest = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => longest[i * width + j] as number
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--)
      longest[i * width + j] = keysA[i] === keysB[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  }
  const pairs: Pair[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && keysA[i] === keysB[j] && at(i, j) === at(i + 1, j + 1) + 1) pairs.push([a[i++], b[j++]])
    else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) pairs.push([a[i++], undefined])
    else pairs.push([undefined, b[j++]])
  }
  return pairs
}

/**
 * Compares two trees. The calls of the transactions themselves are one pair, whatever they call.
 */
export function compareTrees(topA: Frame, topB: Frame): Comparison {
  const calls: ComparedCall[] = []
  const waiting: { readonly pair: Pair; readonly depth: number }[] = [{ pair: [topA, topB], depth: 0 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const {
      pair: [a, b],
      depth,
    } = next
    calls.push({ depth, a, b, differs: a !== undefined && b !== undefined ? differencesOf(a, b) : [] })
    const below: readonly Pair[] =
      a !== undefined && b !== undefined
        ? aligned(a.calls, b.calls)
        : [...(a?.calls ?? []).map((one): Pair => [one, undefined]), ...(b?.calls ?? []).map((one): Pair => [undefined, one])]
    for (let i = below.length - 1; i >= 0; i--) waiting.push({ pair: below[i] as Pair, depth: depth + 1 })
  }
  const onlyA = calls.filter(({ b }) => b === undefined).length
  const onlyB = calls.filter(({ a }) => a === undefined).length
  const changed = calls.filter(({ differs }) => differs.some((one) => one !== 'gas')).length
  const isEqual = onlyA + onlyB + changed === 0 && calls.every(({ differs }) => differs.length === 0)
  return { calls, onlyA, onlyB, changed, isEqual }
}
