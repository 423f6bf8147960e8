// Decides by the text of a script whether it may run consecutive transactions in one sealed realm.
//
// In a sealed realm (inside/seal.ts) nothing can be changed, and anything that would distinguish it
// from a fresh one throws; after any error the transaction is run again in a fresh realm. Code in
// there is strict, so that no change fails silently. A script is refused if it could notice
// strictness, or swallow an error, without throwing one; and if its tokens cannot be read reliably.

/** Longer texts are not looked at. */
const TEXT_MAX = 64 * 1024

/**
 * Words that make a script stay out, also as names of members: they catch errors, run code later,
 * or mean another thing in strict code.
 */
const OUT: ReadonlySet<string> = new Set([
  ...['try', 'catch', 'finally', 'async', 'await', 'yield', 'then'],
  ...['arguments', 'caller', 'callee', 'eval', 'with', 'class', 'super', 'import', 'export', 'debugger'],
])

const SPACE = /[\t\n\r ]/
const NAME_START = /[A-Za-z_$]/
const NAME_PART = /[\w$]/
const NUMBER_PART = /[\w.]/

/**
 * Whether there is nothing but plain characters, and none of the comments that only old pages have.
 */
const isReadable = (text: string): boolean =>
  text.length <= TEXT_MAX && /^[\t\n\r\x20-\x7e]*$/.test(text) && !text.includes('<!--') && !text.includes('-->')

/** Where the text continues behind a string that begins at `at`; undefined where it has no end. */
function behindString(text: string, at: number): number | undefined {
  const quote = text[at]
  for (let i = at + 1; i < text.length; i++) {
    const c = text[i]
    if (c === quote) return i + 1
    if (c === '\n' || c === '\r') return undefined
    if (c === '\\') i++
  }
  return undefined
}

/**
 * Where the text continues behind a comment that begins at `at`; undefined where that is none, or
 * has no end.
 */
function behindComment(text: string, at: number): number | undefined {
  if (text[at + 1] === '*') {
    const end = text.indexOf('*/', at + 2)
    return end < 0 ? undefined : end + 2
  }
  if (text[at + 1] !== '/') return undefined
  let end = at
  while (end < text.length && text[end] !== '\n' && text[end] !== '\r') end++
  return end
}

/**
 * The tokens of a script: names, numbers as `0`, strings as `""`, and single characters. Undefined
 * if the text cannot be split reliably.
 */
function tokens(text: string): readonly string[] | undefined {
  const found: string[] = []
  for (let at = 0; at < text.length; ) {
    const c = text[at] as string
    let next: number | undefined = at + 1
    if (NAME_START.test(c) || /\d/.test(c)) {
      const part = NAME_START.test(c) ? NAME_PART : NUMBER_PART
      while (next < text.length && part.test(text[next] as string)) next++
      found.push(part === NAME_PART ? text.slice(at, next) : '0')
    } else if (c === '"' || c === "'") {
      next = behindString(text, at)
      found.push('""')
    } else if (c === '/') next = behindComment(text, at)
    else if (c === '`' || c === '\\' || c === '#') return undefined
    else if (!SPACE.test(c)) found.push(c)
    // A slash that begins no comment may begin a regular expression.
    if (next === undefined) return undefined
    at = next
  }
  return found
}

/** Whether what stands behind a word lets it in. */
function isLetIn(word: string, next: string | undefined, afterNext: string | undefined): boolean {
  // A function with a name may be visible elsewhere in strict code.
  if (word === 'function') return next === '('
  // In strict code `this` may be undefined: then these throw.
  if (word === 'this') return next === '[' || (next === '.' && afterNext !== '.')
  return !OUT.has(word)
}

/** Methods of the big-integer library that make numbers of others. */
const ARITHMETIC = new RegExp(
  `\\b(${[
    ...['abs', 'add', 'and', 'divide', 'divmod', 'minus', 'mod', 'modInv', 'modPow', 'multiply', 'negate', 'next', 'not', 'or', 'over'],
    ...['plus', 'pow', 'prev', 'remainder', 'shiftLeft', 'shiftRight', 'square', 'subtract', 'times', 'xor'],
  ].join('|')})\\b`,
)

/** Whether a script may calculate with big numbers. */
export const mayCalculate = (text: string): boolean => ARITHMETIC.test(text)

/**
 * Whether no bracket is closed that was not opened: the text stays in the parentheses that it is
 * evaluated in. One that leaves them could declare a global.
 */
function isEnclosed(all: readonly string[]): boolean {
  let depth = 0
  return all.every((word) => {
    if ('([{'.includes(word)) depth++
    else if (')]}'.includes(word)) depth--
    return depth >= 0
  })
}

/** Whether a script may run in a sealed realm. */
export function isPlain(text: string): boolean {
  const all = isReadable(text) ? tokens(text) : undefined
  if (all === undefined || !isEnclosed(all)) return false
  return all.every((word, i) => isLetIn(word, all[i + 1], all[i + 2]))
}
