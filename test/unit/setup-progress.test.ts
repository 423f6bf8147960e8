// Set-up names the time that each step is expected to take: a default first, then what it took.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const PROGRESS = path.resolve(import.meta.dirname, '../../native/setup/progress.mjs')
let cache: string

beforeEach(() => {
  cache = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-progress-'))
})
afterEach(() => fs.rmSync(cache, { recursive: true, force: true }))

/** What a step of so many milliseconds prints. */
function step(ms: number, options = '{}'): string[] {
  const work = `() => new Promise((resolve) => setTimeout(resolve, ${ms}))`
  const script = `const { timed } = await import(${JSON.stringify(PROGRESS)}); await timed('TypeScript', ${work}, ${options})`
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: { ...process.env, HEARTH_CACHE: cache },
  })
  expect([ran.status, ran.stdout]).toEqual([0, ''])
  return ran.stderr.trim().split('\n')
}

test('the last time is expected; smaller work does not count', () => {
  const [begins = '', ends = ''] = step(1_100)
  expect(begins).toMatch(/^hearth set-up: TypeScript: begins, about \d+ s$/)
  const took = /^hearth set-up: TypeScript: done in (\d+) s of about \d+ s$/.exec(ends)?.[1]
  expect(Number(took)).toBeGreaterThanOrEqual(1)
  const file = path.join(cache, 'set-up-times.json')
  expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual({ TypeScript: Number(took) })
  expect(step(0, "{ keep: false, note: ', only what has changed' }")[0]).toBe('hearth set-up: TypeScript: begins, only what has changed')
  expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual({ TypeScript: Number(took) })
  expect(step(0)[0]).toBe(`hearth set-up: TypeScript: begins, about ${took} s`)
})

test('a damaged file of times costs the guess and nothing else', () => {
  const [first] = step(0)
  for (const text of ['{', '"x"', '{"TypeScript":"long"}', '{"TypeScript":null}']) {
    fs.writeFileSync(path.join(cache, 'set-up-times.json'), text)
    expect([text, step(0)[0]]).toEqual([text, first])
  }
})

test('seconds are written as minutes where there are some', () => {
  const script = `const { duration } = await import(${JSON.stringify(PROGRESS)}); console.log([0, 59.4, 60, 150, 3601].map(duration).join())`
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stdout).toBe(
    '0 s,59 s,1 min,2 min 30 s,60 min 1 s\n',
  )
})
