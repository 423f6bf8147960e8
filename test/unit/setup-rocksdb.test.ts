// Set-up reads from cargo where RocksDB is, fetches no crates of other platforms, and refuses a
// core that lacks a part of RocksDB.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'

const MODULE = path.resolve(import.meta.dirname, '../../native/setup/rocksdb.mjs')

test('cargo lists the crates of one platform', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-rocksdb-'))
  try {
    // A cargo that writes down its arguments and fails.
    fs.writeFileSync(path.join(dir, 'cargo'), `#!/bin/sh\necho "$@" > "${dir}/arguments"\nexit 1\n`, { mode: 0o755 })
    const requested = (machine: string): string[] => {
      const code = `await (await import(${JSON.stringify(MODULE)})).rocksdbEnv(${machine}).catch((e) => console.log(e.message))`
      const env = { ...process.env, PATH: `${dir}${path.delimiter}${process.env.PATH}`, HEARTH_CACHE: path.join(dir, 'cache') }
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', env })
      expect(stdout).toMatch(/^cargo metadata failed\./)
      return fs.readFileSync(path.join(dir, 'arguments'), 'utf8').trim().split(' ')
    }
    const platform = (args: readonly string[]): string | undefined => args[args.indexOf('--filter-platform') + 1]
    const tools = "compiler: 'g++', ar: 'ar'"
    expect(platform(requested(`{ arch: 'x64', ${tools} }`))).toBe('x86_64-unknown-linux-gnu')
    expect(platform(requested(`{ arch: 'arm64', ${tools} }`))).toBe('aarch64-unknown-linux-gnu')
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
})

test('a core that uses a left-out source of RocksDB is refused', () => {
  const code = `
    const { checkWhole, missingSymbols } = await import(${JSON.stringify(MODULE)})
    const listed = [
      '                 U free@GLIBC_2.2.5',
      '                 w rocksdb_kill_hook',
      '                 U napi_create_function',
      '                 U rocksdb_open',
      '                 U rocksdb::BackupEngine::Open(rocksdb::Env*)',
    ]
    console.log(JSON.stringify(missingSymbols(listed.join('\\n'))))
    try { checkWhole('/nonexistent.node') } catch (e) { console.log(e.message) }`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  const [missing, message] = stdout.split('\n')
  expect(JSON.parse(missing ?? '')).toEqual(['rocksdb_open', 'rocksdb::BackupEngine::Open(rocksdb::Env*)'])
  expect(message).toMatch(/^nm cannot read \/nonexistent\.node\./)
})
