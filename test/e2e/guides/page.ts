// A guide as the steps that its reader takes: commands, requests, files, and the output that each
// must have.

/** One fenced block of a guide. */
export interface Block {
  /** Line of the opening fence, from 1. */
  readonly line: number
  /**
   * Language, and what follows it on the line of the fence: `text node`, `js docs/examples/x.mjs`.
   */
  readonly language: string
  readonly label: string
  readonly text: string
  /**
   * Why a test does not run it, out of a comment `<!-- not run: WHY -->` above; undefined where it
   * is run.
   */
  readonly notRun: string | undefined
}

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = []
  const lines = page.split('\n')
  for (let i = 0; i < lines.length; i++) {
    const opening = /^```(\w*) ?(.*)$/.exec(lines[i] ?? '')
    if (opening === null) continue
    const end = lines.indexOf('```', i + 1)
    if (end < 0) throw new Error(`line ${i + 1}: the block has no end`)
    const before = lines.slice(0, i).filter((line) => line !== '')
    blocks.push({
      line: i + 1,
      language: opening[1] ?? '',
      label: opening[2] ?? '',
      text: lines.slice(i + 1, end).join('\n'),
      notRun: /^<!-- not run: (.+) -->$/.exec(before.at(-1) ?? '')?.[1],
    })
    i = end
  }
  return blocks
}

/**
 * What stands for anything in an expected text: the rest of a word or line, or whole lines where it
 * is alone on one.
 */
const ANY = '…'

const literal = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** An expected text as a pattern over a whole output; spaces at the ends of lines do not count. */
function patternOf(expected: string): RegExp {
  const lines = expected.split('\n').map((line) => {
    if (line.trim() === ANY) return '(?:.*\\n)*'
    return `${line.trimEnd().split(ANY).map(literal).join('.*')} *\\n`
  })
  return new RegExp(`^${lines.join('')}$`)
}

/** What is wrong with a text that was printed; undefined where it is as expected. */
export function textDifference(expected: string, printed: string): string | undefined {
  const output = `${printed.replaceAll('\r', '').trimEnd()}\n`
  return patternOf(expected).test(output) ? undefined : `expected\n${expected}\ngot\n${output}`
}

/**
 * The first place where a JSON value differs from what is expected, as a path; undefined where it
 * does not.
 */
export function jsonDifference(expected: unknown, got: unknown, at = '$'): string | undefined {
  if (expected === ANY) return undefined
  if (typeof expected === 'string' && expected.includes(ANY)) {
    const matches = typeof got === 'string' && new RegExp(`^${expected.split(ANY).map(literal).join('.*')}$`).test(got)
    return matches ? undefined : `${at}: expected ${expected}, got ${JSON.stringify(got)}`
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(got)) return `${at}: expected a list, got ${JSON.stringify(got)}`
    const isOpen = expected.at(-1) === ANY
    const items = isOpen ? expected.slice(0, -1) : expected
    if (isOpen ? got.length < items.length : got.length !== items.length) return `${at}: ${got.length} items, expected ${items.length}`
    return firstOf(items.map((item, i) => () => jsonDifference(item, got[i], `${at}[${i}]`)))
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof got !== 'object' || got === null || Array.isArray(got)) return `${at}: expected an object, got ${JSON.stringify(got)}`
    const { [ANY]: more, ...members } = expected as Record<string, unknown>
    const values = got as Record<string, unknown>
    const unexpected = Object.keys(values).filter((name) => !(name in members))
    if (more === undefined && unexpected.length > 0) return `${at}: ${unexpected.join(', ')} not expected`
    return firstOf(
      Object.entries(members).map(
        ([name, value]) =>
          () =>
            jsonDifference(value, values[name], `${at}.${name}`),
      ),
    )
  }
  return Object.is(expected, got) ? undefined : `${at}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`
}

function firstOf(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const found = check()
    if (found !== undefined) return found
  }
  return undefined
}
