// The set-up of the engine for JavaScript tracers never fails: it prints in one line what is
// missing and what to type.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'

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
