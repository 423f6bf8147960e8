// Temporary homes of development chains: their location, their removal, their settings.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { resolveSettings } from '../../ts/config/index.ts'
import { temporaryHome, temporarySettings } from '../../ts/node/temporary-home.ts'

/** The namespace of this process's number, as the system names it. */
const [NAMESPACE = ''] = /\d+/.exec(fs.readlinkSync('/proc/self/ns/pid')) ?? []

let dir: string

beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-homes-'))
})

afterEach(() => fs.rmSync(dir, { recursive: true }))

it('a home goes when removed, or after a kill with the next', () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  const [left, other] = [path.join(dir, `hearth-dev-${pid}-1-${NAMESPACE}-abc`), path.join(dir, 'hearth-dev-x')]
  for (const name of [left, other]) fs.mkdirSync(path.join(name, 'data'), { recursive: true })
  const first = temporaryHome(dir)
  expect(fs.existsSync(left)).toBe(false)
  expect(fs.existsSync(other)).toBe(true)
  const second = temporaryHome(dir)
  expect(fs.existsSync(first.home)).toBe(true)
  first.remove()
  second.remove()
  expect(fs.readdirSync(dir)).toEqual(['hearth-dev-x'])
})

it('a home of another container stays while its process may run', () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  const others = [
    // The same number, which no process here has, in another namespace.
    `hearth-dev-${pid}-1-${Number(NAMESPACE) + 1}-abc`,
    // Of a version that did not note the namespace.
    `hearth-dev-${pid}-1-abc`,
  ]
  for (const name of others) fs.mkdirSync(path.join(dir, name, 'data'), { recursive: true })
  const made = temporaryHome(dir)
  expect(path.basename(made.home)).toMatch(new RegExp(`^hearth-dev-${process.pid}-\\d+-${NAMESPACE}-[A-Za-z0-9]{6}$`))
  made.remove()
  expect(fs.readdirSync(dir).sort()).toEqual(others.sort())
})

it('a home that is still written to stays, without an error', () => {
  const made = temporaryHome(dir)
  vi.spyOn(fs, 'rmSync').mockImplementationOnce(() => {
    throw Object.assign(new Error('ENOTEMPTY: directory not empty'), { code: 'ENOTEMPTY', syscall: 'rmdir' })
  })
  made.remove()
  expect(fs.existsSync(made.home)).toBe(true)
})

it('has no syncs or snapshots unless the user sets them', () => {
  const of = (flags: Record<string, string>) => {
    const resolved = resolveSettings({ flags: new Map(Object.entries(flags)) })
    const settings = temporarySettings(resolved, resolved.settings)
    return ['fsync', 'snapshot_interval_blocks', 'wal_max_bytes'].map(
      (name) => settings[`state-commit.flatkv.${name}` as 'state-commit.flatkv.fsync'],
    )
  }
  expect(of({})).toEqual(['never', 0, 0])
  expect(of({ 'state-commit.flatkv.fsync': 'block', 'state-commit.flatkv.snapshot_interval_blocks': '5' })).toEqual(['block', 5, 0])
})
