// Set-up reads from cargo where RocksDB is, and fetches no crates of other platforms.
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
    const tools = "compiler: 'g++', ar: 'ar', nm: 'nm'"
    expect(platform(requested(`{ arch: 'x64', ${tools} }`))).toBe('x86_64-unknown-linux-gnu')
    expect(platform(requested(`{ arch: 'arm64', ${tools} }`))).toBe('aarch64-unknown-linux-gnu')
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
})
