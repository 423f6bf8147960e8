// The N-API boundary as its sources have it: no panic may cross it, and it builds on Linux alone.
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const NATIVE = path.join(import.meta.dirname, '../../native/src')

interface Export {
  name: string
  attribute: string
}

/**
 * Functions after an attribute `#[napi…]`; the attribute of a struct or an `impl` precedes
 * something else.
 */
function exportsOf(source: string): Export[] {
  const found = source.matchAll(/^ *#\[napi(\([^\]]*\))?\]\s*(?:#\[[^\]]*\]\s*)*pub (?:async )?fn (\w+)/gm)
  return [...found].map((m) => ({ attribute: m[1] ?? '', name: m[2] as string }))
}

const sources = fs
  .readdirSync(NATIVE)
  .filter((name) => name.endsWith('.rs'))
  .map((name) => ({ name, text: fs.readFileSync(path.join(NATIVE, name), 'utf8') }))

test('every export catches panics', () => {
  const all = sources.flatMap(({ name, text }) => exportsOf(text).map((found) => ({ ...found, file: name })))
  const unguarded = all.filter(({ attribute }) => !/\bcatch_unwind\b/.test(attribute)).map(({ file, name }) => `${file}: ${name}`)
  expect(unguarded).toEqual([])
  const names = all.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['open_node', 'request', 'start_job', 'open_littable', 'new', 'take', 'next']))
  expect(all.length).toBeGreaterThan(50)
})

test('the check of exports finds one that does not', () => {
  const source = [
    '#[napi]\npub struct NativeThing {}',
    '#[napi]\nimpl NativeThing {',
    '    #[napi(constructor, ts_args_type = "ask: () => void")]\n    pub fn new() -> Self {',
    '    #[napi(catch_unwind)]\n    #[allow(clippy::too_many_arguments, reason = "x")]\n    pub fn ready(',
  ].join('\n\n')
  expect(exportsOf(source)).toEqual([
    { name: 'new', attribute: '(constructor, ts_args_type = "ask: () => void")' },
    { name: 'ready', attribute: '(catch_unwind)' },
  ])
})

test('other systems than Linux are refused when it is built', () => {
  const lib = sources.find(({ name }) => name === 'lib.rs')?.text
  expect(lib).toMatch(/#\[cfg\(not\(target_os = "linux"\)\)\]\ncompile_error!/)
  const manifest = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, '../../package.json'), 'utf8'))
  expect(manifest.napi.targets.filter((target: string) => !target.includes('linux'))).toEqual([])
})
