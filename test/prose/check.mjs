// Findings in the prose of the project: avoided words, long lines, dead links, long names of tests.
import fs from 'node:fs'
import path from 'node:path'
import { hasUserTexts, isDashboard, isPage, isSource } from './files.mjs'
import { prose, scan } from './scan.mjs'
import { COLUMNS_MAX, TEST_NAME_MAX, WORDS } from './words.mjs'

/**
 * @typedef {'word' | 'width' | 'link' | 'name'} Kind
 * @typedef {{ file: string, line: number, kind: Kind, found: string, advice: string, inComment:
 * boolean }} Finding
 */

const PATTERNS = WORDS.map(([pattern, advice]) => ({ pattern: new RegExp(`\\b(?:${pattern})\\b`, 'i'), advice }))

/** Avoided words in a line, with their advice. */
function words(text) {
  return PATTERNS.flatMap(({ pattern, advice }) => {
    const found = pattern.exec(text)
    return found === null ? [] : [{ kind: 'word', found: found[0], advice }]
  })
}

const tooWide = (whole) => [{ kind: 'width', found: `${whole.length} columns`, advice: `at most ${COLUMNS_MAX}` }]

/**
 * A line of a page that may be longer: a row of a table, a heading, a line that cannot be broken.
 */
const mayBeWide = (whole) =>
  /^\||^#/.test(whole) ||
  !whole
    .slice(0, COLUMNS_MAX + 1)
    .trimStart()
    .replace(/^(?:[-*]|\d+\.) /, '')
    .includes(' ')

/** The anchor that a heading has. */
const anchorOf = (heading) =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')

const anchors = new Map()

/** Anchors of the headings of a page. */
function anchorsOf(file) {
  if (!anchors.has(file)) {
    const headings = prose(fs.readFileSync(file, 'utf8')).flatMap(({ whole }) => /^#+ (.*)$/.exec(whole)?.[1] ?? [])
    anchors.set(file, new Set(headings.map(anchorOf)))
  }
  return anchors.get(file)
}

/** Links of a line of a page that lead nowhere. */
function deadLinks(root, file, text) {
  return [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].flatMap(([, target = '', anchor]) => {
    const at = target === '' ? path.join(root, file) : path.join(root, path.dirname(file), target)
    const shown = anchor === undefined ? target : `${target}#${anchor}`
    if (!fs.existsSync(at)) return [{ kind: 'link', found: shown, advice: 'there is no such file' }]
    if (anchor === undefined || !isPage(at)) return []
    return anchorsOf(at).has(anchor) ? [] : [{ kind: 'link', found: shown, advice: 'there is no such heading' }]
  })
}

/** Findings in a page. */
export function checkPage(root, file, page) {
  return prose(page).flatMap(({ line, text, whole }) =>
    [...words(text), ...(whole.length > COLUMNS_MAX && !mayBeWide(whole) ? tooWide(whole) : []), ...deadLinks(root, file, text)].map(
      (finding) => ({ file, line, inComment: false, ...finding }),
    ),
  )
}

const RUST_TEST = /#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)/g
const VITEST_TEST = /\b(?:it|test|describe)(?:\.\w+)*(?:\([^'"`]*?\))?\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g

/** Findings in the names of a file's tests: an interpolated value does not count. */
export function checkTestNames(file, source) {
  const found = file.endsWith('.rs')
    ? [...source.matchAll(RUST_TEST)].map(({ 1: name = '', index }) => ({ name, index }))
    : /\.test\.(?:ts|mjs)$/.test(file)
      ? [...source.matchAll(VITEST_TEST)].map(({ 2: name = '', index }) => ({ name, index }))
      : []
  return found
    .map(({ name, index }) => ({ length: name.replaceAll(/\$\{[^}]*\}/g, '').length, index }))
    .filter(({ length }) => length > TEST_NAME_MAX)
    .map(({ length, index }) => ({
      file,
      line: source.slice(0, index).split('\n').length,
      kind: 'name',
      found: `the name of a test has ${length} characters`,
      advice: `at most ${TEST_NAME_MAX}`,
      inComment: true,
    }))
}

/** The line from which on a Rust file has its tests; none is after the last line. */
const testsOf = (source) => {
  const found = /^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*mod /m.exec(source)
  return found === null ? Number.POSITIVE_INFINITY : source.slice(0, found.index).split('\n').length
}

/** Findings in a source file: its comments, and its texts where those may reach users. */
export function checkSource(file, source) {
  const { comments, texts } = scan(source, file.endsWith('.rs') ? 'rs' : 'ts')
  const lines = source.split('\n')
  const inComments = comments.flatMap(({ line, text }) => {
    const whole = lines[line - 1] ?? ''
    // A comment behind code is as long as the code; only a line of its own counts.
    const isAlone = whole.trim() === text.trim()
    // Rows of a table cannot be broken.
    const isRow = /^(?:\/\/[/!]?|\*) \|/.test(text.trim())
    // Code spans are names.
    return [...words(text.replaceAll(/`[^`]*`/g, '``')), ...(isAlone && !isRow && whole.length > COLUMNS_MAX ? tooWide(whole) : [])].map(
      (finding) => ({
        file,
        line,
        inComment: true,
        ...finding,
      }),
    )
  })
  // A name in quotes is no prose, nor is a placeholder within a text.
  const end = testsOf(source)
  const isShown = ({ line, text }) => line < end && /\S\s+\S/.test(text)
  const shown = (hasUserTexts(file) ? texts.filter(isShown) : []).map(({ line, text }) => ({
    line,
    text: text.replaceAll(/\$?\{[^}]*\}/g, '{}'),
  }))
  return [...inComments, ...shown.flatMap(({ line, text }) => words(text).map((finding) => ({ file, line, inComment: false, ...finding })))]
}

/**
 * Every finding in these files.
 *
 * @param {string} root
 * @param {readonly string[]} files paths below `root`
 * @returns {{ file: string, line: number, inComment: boolean, kind: string, found: string,
 *   advice: string }[]}
 */
export function check(root, files) {
  return files.flatMap((file) => {
    if (!isPage(file) && !isSource(file) && !isDashboard(file)) return []
    const at = path.join(root, file)
    if (!fs.existsSync(at)) return []
    const text = fs.readFileSync(at, 'utf8')
    if (isPage(file)) return checkPage(root, file, text)
    if (isSource(file)) return [...checkSource(file, text), ...checkTestNames(file, text)]
    return text.split('\n').flatMap((line, i) => words(line).map((finding) => ({ file, line: i + 1, inComment: false, ...finding })))
  })
}
