// docs/benchmarks.md starts with the table that its sections give, which README.md has too; every
// losing record says why, and so do the losing rows of sections whose causes are known.
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { CAUSES } from '../bench/causes.mjs'
import { losingRows, pageOf, readmeOf, sections } from '../bench/page.mjs'
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
