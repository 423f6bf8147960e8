// docs/benchmarks.md starts with the table that its sections give, which README.md has too; every
// losing record says why, and so do the losing rows of sections whose causes are known.
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { CAUSES } from '../bench/causes.mjs'
import { losingRows, pageOf, readmeOf, section, sections } from '../bench/page.mjs'
import { RECORDS } from '../bench/summary.mjs'

const textOf = (name: string): string => fs.readFileSync(path.resolve(import.meta.dirname, '../..', name), 'utf8')

const page = textOf('docs/benchmarks.md')

it('docs/benchmarks.md has the table of its sections', () => {
  expect(pageOf(sections(page))).toBe(page)
})

it('README.md has the same table', () => {
  const readme = textOf('README.md')
  expect(readmeOf(readme, sections(page))).toBe(readme)
  for (const line of page.slice(0, page.indexOf('\n## ')).split('\n')) if (line.startsWith('| ')) expect(readme).toContain(`${line}\n`)
})

it('every record in which Hearth is slower says why', () => {
  const rows = page.slice(0, page.indexOf('\n## ')).split('\n')
  const records = rows.filter((line) => line.startsWith('| ')).slice(1)
  // Records of a bench that has not been written to the page are not in its table.
  const written = RECORDS.filter((record) => sections(page).has(record.in))
  expect(records.map((record) => record.split('|')[1]?.trim())).toEqual(written.map(({ name }) => name))
  expect(written.length).toBeGreaterThanOrEqual(22)
  for (const record of records) {
    const [, , , , ratio, why] = record.split('|').map((cell) => cell.trim())
    expect(Number(ratio), record).toBeGreaterThan(0)
    expect(why !== '', record).toBe(Number(ratio) < 1)
  }
})

/** Sections all of whose losing rows have a cause. */
const EXPLAINED = [
  ...['bake', 'cosmos', 'dev', 'engine', 'explorer', 'flatkv', 'follow', 'import', 'js', 'littable', 'logs'],
  ...['metrics', 'network', 'overload', 'rpc', 'script', 'start', 'trace', 'trace-parity'],
]

it.each(EXPLAINED)('every losing row of %s has its cause on the page', (name) => {
  const text = sections(page).get(name) ?? ''
  for (const row of losingRows(text)) {
    const cause = CAUSES.find((cause) => cause.in === name && cause.rows.test(row))
    expect(cause, row).toBeDefined()
    expect(text.replace(/\n {2}/g, ' ')).toContain(`- ${cause?.name}: ${cause?.why}`)
  }
})

it('every cause is of rows that the page has', () => {
  const key = (title: string, line: string): string => [title, ...line.slice(2).split(' | ').slice(0, 2)].join(' | ')
  for (const { in: name, rows } of CAUSES) {
    const parts = (sections(page).get(name) ?? '').split(/^### /m)
    const keys = parts.flatMap((part, i) => part.split('\n').map((line) => key(i === 0 ? '' : (part.split('\n', 1)[0] ?? ''), line)))
    expect(
      keys.some((row) => rows.test(row)),
      String(rows),
    ).toBe(true)
  }
})

it('tables that stay name the machine of their measurement', () => {
  const [one, other] = ['Ran on 2 cores of A, 4 GiB, Node v20.1.0.', 'Ran on 8 cores of B, 9 GiB, Node v22.1.0.']
  const table = (value: number, title?: string) => ({
    heading: ['row', 'ms'],
    rows: [['a', value]],
    ...(title === undefined ? {} : { title }),
  })
  const first = section('js', '', [table(1), table(2, 'second'), table(3, 'third')], one)
  expect(first.match(/[Rr]an on/g)).toHaveLength(1)
  const again = section('js', first, [table(4, 'second')], one)
  expect(again).toBe(first.replace('| a | 2 |', '| a | 4 |'))
  const elsewhere = section('js', again, [table(5, 'second')], other)
  expect(elsewhere.slice(elsewhere.indexOf('The first table'))).toBe(
    [
      'The first table ran on 2 cores of A, 4 GiB, Node v20.1.0.\n\n| row | ms |\n| --- | --- |\n| a | 1 |',
      '### second\n\n| row | ms |\n| --- | --- |\n| a | 5 |',
      `### third\n\n${one}\n\n| row | ms |\n| --- | --- |\n| a | 3 |`,
    ].join('\n\n'),
  )
  expect(elsewhere.replace(/\s+/g, ' ')).toContain(`. ${other} The first table`)
  // What stays once more keeps its machine, and what is measured again loses it.
  const last = section('js', elsewhere, [table(6)], other)
  expect(last).not.toContain('The first table')
  expect(last).toContain(`### third\n\n${one}\n\n| row`)
  expect(section('js', elsewhere, [], other)).toBe(elsewhere)
})
