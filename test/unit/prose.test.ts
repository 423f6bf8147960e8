// The check of prose: what it finds in pages and sources, and what it leaves alone.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { checkPage, checkSource, checkTestNames } from '../prose/check.mjs'
import { directoryOf, hasUserTexts } from '../prose/files.mjs'

interface Found {
  readonly line: number
  readonly kind: string
  readonly found: string
  readonly inComment: boolean
}
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-prose-'))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const inPage = (page: string): string[] => {
  fs.writeFileSync(path.join(root, 'page.md'), page)
  return (checkPage(root, 'page.md', page) as Found[]).map(({ line, kind, found }) => `${line} ${kind} ${found}`)
}
const inSource = (file: string, source: string): string[] =>
  (checkSource(file, source) as Found[]).map(
    ({ line, kind, found, inComment }) => `${line} ${kind} ${found} ${inComment ? 'comment' : 'text'}`,
  )

describe('a page', () => {
  it('has no avoided word outside of code', () => {
    expect(inPage('The node asks.\n\n`ask`\n\n```\nNobody asks.\n```\nIt was told.')).toEqual(['1 word asks', '8 word told'])
  })

  it('has lines of at most 100 columns, with few exceptions', () => {
    const long = 'word '.repeat(21).trim()
    expect(inPage(`${long}\n| ${long} |\n# ${long}\n${'x'.repeat(120)}\n`)).toEqual(['1 width 104 columns'])
  })

  it('has no dead links', () => {
    const page = '# A title, with `code`\n[a](page.md) [b](#a-title-with-code) [c](https://example.org)\n[d](gone.md)\n[e](#gone)\n'
    expect(inPage(page)).toEqual(['3 link gone.md', '4 link #gone'])
  })
})

describe('the name of a test', () => {
  const named = (file: string, source: string): string[] => checkTestNames(file, source).map(({ line, found }) => `${line} ${found}`)
  const long = 'x'.repeat(61)

  it('has at most 60 characters in Rust', () => {
    const source = `#[test]\nfn ${long}() {}\n#[test]\n#[ignore = "slow"]\nfn ${long}y() {}\nfn ${long}() {}\n#[test]\nfn short() {}`
    expect(named('crates/a/src/x.rs', source)).toEqual(['1 the name of a test has 61 characters', '3 the name of a test has 62 characters'])
  })

  it('has at most 60 characters in vitest, values aside', () => {
    const source = `it('${long}', f)\nit.each(ROWS)('${long}', f)\nit(\`${'x'.repeat(60)}\${value}\`, f)\ndescribe(\n  '${long}', f)`
    const found = ['1', '2', '4'].map((line) => `${line} the name of a test has 61 characters`)
    expect(named('test/unit/a.test.ts', source)).toEqual(found)
    expect(named('test/unit/helper.ts', source)).toEqual([])
  })
})

describe('a source file', () => {
  it('is split into comments and texts', () => {
    const source = [
      '// Somebody asks.',
      "const x = 'the node was told' // mend",
      'const asked = /told "/',
      'const y = `a\\`b asked`',
      "const z = 'told'",
      'const v = `one asks`',
      '// `asked` is a name',
    ]
    expect(inSource('ts/x.ts', source.join('\n'))).toEqual([
      '1 word asks comment',
      '1 word Somebody comment',
      '2 word mend comment',
      '2 word told text',
      '4 word asked text',
      '6 word asks text',
    ])
  })

  it('of Rust may have lifetimes, characters and raw texts', () => {
    const source = [
      "fn f<'a>(x: &'a str) -> char { '\"' } // told",
      'let s = r#"the "node" asks now"#;',
      '#[cfg(test)]',
      'mod tests { const S: &str = "it was told so"; }',
    ]
    expect(inSource('crates/x/src/lib.rs', source.join('\n'))).toEqual(['1 word told comment', '2 word asks text'])
  })

  it('has comments of at most 100 columns', () => {
    expect(inSource('ts/x.ts', `// ${'word '.repeat(20).trim()}\nconst x = 1 // ${'word '.repeat(20).trim()}`)).toEqual([
      '1 width 102 columns comment',
    ])
  })
})

it('test texts are exempt; findings count by component', () => {
  expect(['ts/cli/run.ts', 'crates/evm/src/lib.rs', 'crates/evm/tests/it/main.rs', 'test/e2e/x.ts'].map(hasUserTexts)).toEqual([
    true,
    true,
    false,
    false,
  ])
  expect(['ts/index.ts', 'ts/rpc/methods/x.ts', 'crates/evm/src/lib.rs', 'test/run.mjs'].map(directoryOf)).toEqual([
    'ts',
    'ts/rpc',
    'crates/evm',
    'test',
  ])
})
