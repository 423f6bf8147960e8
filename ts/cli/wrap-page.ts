// Breaks the paragraphs of a generated page between words, at the width that test/prose checks.

/** Columns of a line of a page. */
const COLUMNS_MAX = 100

/** A code span, a link or a word, with what is joined to it: a line is not broken within. */
const PIECE = /(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+/g

/** A paragraph or an item of a list as lines; the lines after the first of an item are indented. */
function wrapped(text: string): string[] {
  const indent = ' '.repeat(/^(?:[-*]|\d+\.) /.exec(text)?.[0].length ?? 0)
  const lines: string[] = []
  for (const piece of text.match(PIECE) ?? []) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + piece.length <= COLUMNS_MAX) lines[lines.length - 1] = `${last} ${piece}`
    else lines.push(last === undefined ? piece : `${indent}${piece}`)
  }
  return lines
}

/** Whether a line is kept as it is: a heading, a row of a table, an empty line. */
const isKept = (line: string): boolean => line === '' || /^[#|<]/.test(line)

/** The page with its paragraphs broken; headings, tables and code blocks stay as they are. */
export function wrapPage(page: string): string {
  const lines: string[] = []
  let paragraph = ''
  let isCode = false
  const end = (): void => {
    if (paragraph !== '') lines.push(...wrapped(paragraph))
    paragraph = ''
  }
  for (const line of page.split('\n')) {
    const isFence = line.startsWith('```')
    if (isFence || isCode || isKept(line)) {
      end()
      lines.push(line)
      if (isFence) isCode = !isCode
      continue
    }
    if (/^(?:[-*]|\d+\.) /.test(line)) end()
    paragraph = paragraph === '' ? line : `${paragraph} ${line.trim()}`
  }
  end()
  return lines.join('\n')
}
