// Splits a source file into the comments and the texts in it, each with its line.

/** @typedef {{ line: number, text: string }} Piece a comment or a string literal, line by line */

const REGEX_BEFORE = /(?:^|[(,=:[!&|?{};+\n]|\breturn|=>)\s*$/

/**
 * Comments and string literals of a TypeScript, JavaScript or Rust file.
 *
 * @param {string} source
 * @param {'ts' | 'rs'} language
 * @returns {{ comments: Piece[], texts: Piece[] }} pieces of several lines are one piece a line
 */
export function scan(source, language) {
  /** @type {Piece[]} */
  const comments = []
  /** @type {Piece[]} */
  const texts = []
  let line = 1
  let at = 0
  const take = (into, end) => {
    const piece = source.slice(at, end)
    for (const text of piece.split('\n')) {
      into.push({ line, text })
      line++
    }
    line--
    at = end
  }
  const upTo = (sought, from) => {
    const found = source.indexOf(sought, from)
    return found < 0 ? source.length : found + sought.length
  }
  /** The end of a literal between quotes, escapes counted. */
  const closing = (quote) => {
    let i = at + 1
    while (i < source.length && source[i] !== quote) i += source[i] === '\\' ? 2 : 1
    return Math.min(i + 1, source.length)
  }
  while (at < source.length) {
    const [here, next] = [source[at], source[at + 1]]
    if (here === '/' && next === '/') {
      const end = source.indexOf('\n', at)
      take(comments, end < 0 ? source.length : end)
    } else if (here === '/' && next === '*') take(comments, upTo('*/', at + 2))
    else if (here === '"') take(texts, closing('"'))
    else if (language === 'rs') {
      const raw = /^b?r(#*)"/.exec(source.slice(at, at + 12))
      if (raw && !/\w/.test(source[at - 1] ?? '')) take(texts, upTo(`"${raw[1]}`, at + raw[0].length))
      else if (here === "'") {
        // A character, or the name of a lifetime.
        const character = /^'(?:\\(?:u\{[0-9a-fA-F]+\}|x..|.)|[^\\'])'/u.exec(source.slice(at, at + 14))
        at += character ? character[0].length : 1
      } else {
        if (here === '\n') line++
        at++
      }
    } else if (here === "'" || here === '`') take(texts, closing(here))
    else if (here === '/' && REGEX_BEFORE.test(source.slice(Math.max(0, at - 20), at))) {
      const literal = /^\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/.exec(source.slice(at, at + 1000))
      at += literal ? literal[0].length : 1
    } else {
      if (here === '\n') line++
      at++
    }
  }
  return { comments, texts }
}

/**
 * Lines of a Markdown page outside of fenced blocks, and with inline code taken out.
 *
 * @param {string} page
 * @returns {{ line: number, text: string, whole: string }[]} `whole` is the line as it is
 */
export function prose(page) {
  let fenced = false
  const found = []
  for (const [i, whole] of page.split('\n').entries()) {
    if (/^\s*```/.test(whole)) fenced = !fenced
    else if (!fenced) found.push({ line: i + 1, text: whole.replaceAll(/`[^`]*`/g, '``'), whole })
  }
  return found
}
