// The set-up of the engine for JavaScript tracers never fails: it prints in one line what is
// missing and what to type.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ENGINES } from '../../native/setup/isolated-vm.mjs'

const MODULE = path.resolve(import.meta.dirname, '../../native/setup/isolated-vm.mjs')

test('without npm there is one line, and the exit code is 0', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-setup-'))
  try {
    const target = path.join(dir, 'isolated-vm.node')
    const code = `const { isolatedVm } = await import(${JSON.stringify(MODULE)}); await isolatedVm(${JSON.stringify(target)})`
    const r = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
      env: { PATH: '/nowhere', HOME: dir, HEARTH_CACHE: path.join(dir, 'cache') },
    })
    expect([r.status, r.stdout]).toEqual([0, ''])
    expect(r.stderr.trim().split('\n').at(-1)).toMatch(
      /^hearth set-up: no JavaScript tracers: isolated-vm is not there, and .+, then run npm run build again\. Everything else works\.$/,
    )
    expect(fs.existsSync(target)).toBe(false)
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
})

test('a library of another version gives way to the cached one', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-setup-'))
  try {
    const { version } = ENGINES[process.versions.node.split('.')[0] as unknown as keyof typeof ENGINES]
    const cache = path.join(dir, 'cache')
    const kept = path.join(cache, `isolated-vm-${version}-node${process.versions.node}-${process.platform}-${process.arch}`)
    fs.mkdirSync(kept, { recursive: true })
    fs.writeFileSync(path.join(kept, 'isolated_vm.node'), 'of the cache')
    const target = path.join(dir, 'isolated-vm.node')
    const stamp = `${target}.version`
    const code = `const { isolatedVm } = await import(${JSON.stringify(MODULE)}); await isolatedVm(${JSON.stringify(target)})`
    /** The library and its stamp after set-up, from these. */
    const after = (library: string, of: string | undefined): string[] => {
      fs.writeFileSync(target, library)
      fs.rmSync(stamp, { force: true })
      if (of !== undefined) fs.writeFileSync(stamp, `${of}\n`)
      const env = { PATH: '/nowhere', HOME: dir, HEARTH_CACHE: cache }
      const r = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', env })
      expect([r.status, r.stdout, r.stderr]).toEqual([0, '', ''])
      return [target, stamp].map((file) => fs.readFileSync(file, 'utf8'))
    }
    expect(after('older', '4.7.2')).toEqual(['of the cache', `${version}\n`])
    // Built before libraries had a stamp.
    expect(after('unknown', undefined)).toEqual(['of the cache', `${version}\n`])
    expect(after('the same', version)).toEqual(['the same', `${version}\n`])
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
})

test('an older library stays where the pinned one cannot be had', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-setup-'))
  try {
    const target = path.join(dir, 'isolated-vm.node')
    fs.writeFileSync(target, 'older')
    fs.writeFileSync(`${target}.version`, '4.7.2\n')
    const code = `const { isolatedVm } = await import(${JSON.stringify(MODULE)}); await isolatedVm(${JSON.stringify(target)})`
    const env = { PATH: '/nowhere', HOME: dir, HEARTH_CACHE: path.join(dir, 'cache') }
    const r = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', env })
    expect(r.status).toBe(0)
    expect(r.stderr.trim().split('\n').at(-1)).toMatch(
      /^hearth set-up: JavaScript tracers run in the isolated-vm of an earlier build: isolated-vm \d+\.\d+\.\d+ is not there, and .+, then run npm run build again\.$/,
    )
    expect([target, `${target}.version`].map((file) => fs.readFileSync(file, 'utf8'))).toEqual(['older', '4.7.2\n'])
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
})

/** A `binding.gyp` with two targets in the form of the package's. */
const BINDING = `{
	'target_defaults': { 'configurations': { 'Common': { 'cflags_cc': [ '-std=c++17', '-g', '-Wno-unknown-pragmas' ] } } },
	'targets': [
		{
			'target_name': 'isolated_vm',
			'sources': [
				'src/a.cc',
				'src/b_nortti.cc',
				"src/c.cc"
			],
			'conditions': [ [ 'OS != "win"', { 'sources/': [ [ 'exclude', '_nortti\\\\.cc$'] ] } ] ],
		},
		{ 'target_name': 'nortti', 'sources': [ 'src/b_nortti.cc' ] },
	],
}
`

/** The files of a folder with that `binding.gyp` after `unite`, and what it printed. */
function unite(binding: string) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-setup-'))
  try {
    fs.writeFileSync(path.join(dir, 'binding.gyp'), binding)
    const code = `const { unite } = await import(${JSON.stringify(MODULE)}); unite(${JSON.stringify(dir)})`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
    const files = Object.fromEntries(fs.readdirSync(dir).map((name) => [name, fs.readFileSync(path.join(dir, name), 'utf8')]))
    return { status, stderr, files }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

test('each target becomes one file, without debug information', () => {
  const { status, files } = unite(BINDING)
  expect(status).toBe(0)
  expect(files['unit.cc']).toBe('#include "src/a.cc"\n#include "src/c.cc"\n')
  expect(files['unit_nortti.cc']).toBe('#include "src/b_nortti.cc"\n')
  const lists = [...(files['binding.gyp'] ?? '').matchAll(/'sources': \[[^\]]*\]/g)].map(([list]) => list)
  expect(lists).toEqual(["'sources': ['unit.cc']", "'sources': ['unit_nortti.cc']"])
  expect(files['binding.gyp']).toContain("'cflags_cc': [ '-std=c++17', '-Wno-unknown-pragmas' ]")
  expect(files['binding.gyp']).toContain("[ 'exclude', '_nortti\\\\.cc$']")
})

test('a binding.gyp of another form is refused', () => {
  for (const text of [BINDING.replace("'-g', ", ''), BINDING.replace(/'sources': \[ 'src.*\]/, ''), '{}']) {
    const { status, stderr } = unite(text)
    expect([text, status]).toEqual([text, 1])
    expect(stderr).toContain('its binding.gyp has another form than native/setup/isolated-vm.mjs rewrites')
  }
})
