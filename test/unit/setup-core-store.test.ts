// Built cores that set-up keeps for other clones of the same sources.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'

let cache: string
let built: string
let other: string
let store: typeof import('../../native/setup/core-store.mjs')

const LIBRARY = 'hearth.linux-x64-gnu.node'
const FILES = { [LIBRARY]: 'library', 'index.js': 'loader', 'index.d.ts': 'typings' }

beforeAll(async () => {
  cache = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-core-store-'))
  vi.stubEnv('HEARTH_CACHE', cache)
  vi.resetModules()
  store = await import('../../native/setup/core-store.mjs')
})
afterAll(() => {
  vi.unstubAllEnvs()
  fs.rmSync(cache, { recursive: true, force: true })
})

beforeEach(() => {
  fs.rmSync(cache, { recursive: true, force: true })
  built = path.join(cache, 'built')
  other = path.join(cache, 'other')
  for (const dir of [built, other]) fs.mkdirSync(dir, { recursive: true })
  for (const [name, text] of Object.entries(FILES)) fs.writeFileSync(path.join(built, name), text)
  fs.writeFileSync(path.join(built, 'isolated-vm-115.node'), 'another step makes this one')
})

const content = () => Object.fromEntries(fs.readdirSync(other).map((name) => [name, fs.readFileSync(path.join(other, name), 'utf8')]))

test('another clone takes the core of the same sources', () => {
  store.keepCore('release', 'abc', built)
  expect(store.hasCore('release', 'abc')).toBe(true)
  expect(store.takeCore('release', 'abc', other)).toBe(true)
  expect(content()).toEqual(FILES)
})

test('other sources and another profile have no core', () => {
  store.keepCore('release', 'abc', built)
  expect(store.hasCore('release', 'abd')).toBe(false)
  expect(store.takeCore('release', 'abd', other)).toBe(false)
  expect(store.takeCore('dev', 'abc', other)).toBe(false)
  expect(content()).toEqual({})
})

test.each([
  ['a changed byte', (file: string) => fs.writeFileSync(file, 'librarx')],
  ['a short file', (file: string) => fs.truncateSync(file, 3)],
  ['a missing file', (file: string) => fs.rmSync(file)],
  ['digests that are no JSON', (file: string) => fs.writeFileSync(path.join(path.dirname(file), 'sums.json'), '{')],
  [
    'a name outside the folder',
    (file: string) => fs.writeFileSync(path.join(path.dirname(file), 'sums.json'), JSON.stringify({ '../built/index.js': 'x' })),
  ],
])('a stored core with %s is removed and not used', (_, damage) => {
  store.keepCore('release', 'abc', built)
  damage(path.join(cache, 'core-release-abc', LIBRARY))
  expect(store.takeCore('release', 'abc', other)).toBe(false)
  expect(content()).toEqual({})
  expect(fs.existsSync(path.join(cache, 'core-release-abc'))).toBe(false)
})

test('the four cores used last are kept, of each profile', () => {
  store.keepCore('dev', 'd', built)
  for (const [n, sources] of ['a', 'b', 'c', 'd'].entries()) {
    store.keepCore('release', sources, built)
    fs.utimesSync(path.join(cache, `core-release-${sources}`), n + 1, n + 1)
  }
  store.takeCore('release', 'a', other)
  store.keepCore('release', 'e', built)
  const kept = fs.readdirSync(cache).filter((name) => name.startsWith('core-'))
  expect(kept.sort()).toEqual(['core-dev-d', 'core-release-a', 'core-release-c', 'core-release-d', 'core-release-e'])
})
