// What set-up fetches is checked against pinned digests before it is used.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

const SETUP = path.resolve(import.meta.dirname, '../../native/setup')
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-pins-'))
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

/**
 * Runs lines of JavaScript that use a module of the set-up, with commands of this test before the
 * system's.
 */
function run(lines: string, commands: Readonly<Record<string, string>> = {}) {
  const bin = fs.mkdtempSync(path.join(dir, 'bin-'))
  for (const [name, text] of Object.entries(commands)) fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  const cache = fs.mkdtempSync(path.join(dir, 'cache-'))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', lines], {
    encoding: 'utf8',
    cwd: dir,
    env: { ...process.env, PATH: `${bin}${path.delimiter}${process.env.PATH}`, HEARTH_CACHE: cache },
  })
  return { status, stdout: stdout.trim(), stderr: stderr.trim(), cache }
}

const module = (name: string): string => JSON.stringify(path.join(SETUP, name))

/** `npm pack NAME@VERSION` that writes another file than the registry's. */
const FALSE_NPM = `test "$1" = pack && echo false > "$(echo "$2" | tr @ -).tgz"`

describe('a digest', () => {
  it('is accepted where it is the pinned one', () => {
    fs.writeFileSync(path.join(dir, 'a.tgz'), 'text')
    fs.writeFileSync(path.join(dir, 'a.whl'), 'text')
    const base64 = 'sha512-6vLBJ0LLjBYby9hLAyubuYmZojKCVCZyygHMbt0mj33OmYetayvHkwVjT4nZC5AQK81ZpX5xNbjjzrk8BZcRew=='
    const hex = 'sha256-982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1'
    const ask = (file: string, pin: string) =>
      `console.log((await import(${module('pins.mjs')})).pinRefusal(${JSON.stringify(path.join(dir, file))}, { ${JSON.stringify(file)}: ${JSON.stringify(pin)} }))`
    expect(run(ask('a.whl', hex)).stdout).toBe('undefined')
    expect(run(ask('a.whl', `${hex}0`)).stdout).toBe(`a.whl has the digest ${hex}, and ${hex}0 is pinned: the registry gave another file`)
    expect(run(ask('a.tgz', base64)).stdout).toBe('undefined')
  })

  it('that is not pinned refuses the file', () => {
    fs.writeFileSync(path.join(dir, 'other-1.0.0.tgz'), 'text')
    const file = JSON.stringify(path.join(dir, 'other-1.0.0.tgz'))
    expect(run(`console.log((await import(${module('pins.mjs')})).pinRefusal(${file}))`).stdout).toBe(
      'other-1.0.0.tgz was fetched, and no digest is pinned for it (native/setup/pins.mjs)',
    )
  })
})

describe('another file than the pinned one', () => {
  it('of isolated-vm is not built', () => {
    const target = path.join(dir, 'isolated-vm.node')
    const r = run(`await (await import(${module('isolated-vm.mjs')})).isolatedVm(${JSON.stringify(target)})`, { npm: FALSE_NPM })
    expect(r.stderr).toMatch(
      /no JavaScript tracers: .*isolated-vm-\S+\.tgz has the digest sha512-\S+, and sha512-\S+ is pinned: the registry gave another file\. Check npm’s registry, then run npm run build again/,
    )
    expect([r.status, fs.existsSync(target), fs.readdirSync(r.cache)]).toEqual([0, false, []])
  })

  it('of libclang is not unpacked', () => {
    const wheel = 'libclang-18.1.1-py2.py3-none-manylinux2010_x86_64.whl'
    const pip = `test "$3" = --version && echo pip && exit 0\nwhile test "$1" != -d; do shift; done\necho false > "$2/${wheel}"`
    const lines = `import { fetchWheel } from ${module('libclang.mjs')}
try { fetchWheel(); console.log('accepted') } catch (e) { console.log(e.constructor.name, e.message) }`
    const r = run(lines, { python3: pip })
    expect(r.stdout).toMatch(
      /^SetupError libclang-18\.1\.1-\S+\.whl has the digest sha256-\S+, and sha256-c533\S+ is pinned: .* Type: sudo apt-get/,
    )
    expect(fs.readdirSync(r.cache)).toEqual([])
  })
})

describe('a package', () => {
  /**
   * A minimal npm: a flag wins over the environment, which an `npm pack` around the set-up fills.
   */
  const NPM = `name="$(echo "$2" | tr @ -).tgz"; to="$npm_config_pack_destination"; dry="$npm_config_dry_run"
for flag; do case "$flag" in --pack-destination=*) to="\${flag#*=}";; --no-dry-run) dry=;; esac; done
mkdir -p package && echo text > package/file
test -n "$dry" || tar czf "\${to:-.}/$name" package
rm -r package`

  it('is fetched under `npm pack` with its own destination', () => {
    const [to, other] = ['to-', 'other-'].map((name) => fs.mkdtempSync(path.join(dir, name))) as [string, string]
    const lines = `process.env.npm_config_pack_destination = ${JSON.stringify(other)}
process.env.npm_config_dry_run = 'true'
const { fetchPackage } = await import(${module('isolated-vm.mjs')})
try { fetchPackage('a', '1.0.0', ${JSON.stringify(to)}) } catch (e) { console.log(e.message) }`
    expect(run(lines, { npm: NPM }).stdout).toMatch(/^a-1\.0\.0\.tgz was fetched, and no digest is pinned for it/)
    expect([fs.readdirSync(to), fs.readdirSync(other)]).toEqual([['a-1.0.0.tgz'], []])
  })
})
