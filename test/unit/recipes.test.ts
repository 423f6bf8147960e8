// The patches of CONTRIBUTING.md, applied to a copy of the sources: a method, a setting and a
// metric touch three places each, and the rest follows from them.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../..')

/** The patches of the page: the hunks of each by file. */
const patches = new Map<string, Patch>()

type Patch = readonly { readonly file: string; readonly old: string; readonly now: string }[]

/**
 * The hunks of a unified diff without line numbers: what stands in the file, and what takes its
 * place. A file that does not exist yet has nothing to be replaced.
 */
function hunksOf(diff: string): Patch {
  return diff.split(/^--- .*\n/m).flatMap((part) => {
    const [head = '', ...hunks] = part.split(/^@@\n/m)
    const file = /^\+\+\+ b\/(.+)\n$/.exec(head)?.[1]
    if (file === undefined) return []
    return hunks.map((hunk) => {
      const lines = hunk.split('\n').slice(0, -1)
      const without = (sign: string): string => lines.flatMap((line) => (line[0] === sign ? [] : [`${line.slice(1)}\n`])).join('')
      return { file, old: without('+'), now: without('-') }
    })
  })
}

const page = fs.readFileSync(path.join(ROOT, 'CONTRIBUTING.md'), 'utf8')
for (const section of page.split(/^(?=\*\*)/m)) {
  const title = /^\*\*(.+)\*\*\n/.exec(section)?.[1]
  const diff = section.split('```diff\n')[1]?.split('```\n')[0]
  if (title !== undefined && diff !== undefined) patches.set(title, hunksOf(diff))
}

/** Puts hunks into the files of a folder; the text that they replace is there exactly once. */
function apply(dir: string, patch: Patch): void {
  for (const { file, old, now } of patch) {
    const at = path.join(dir, file)
    if (old === '') {
      expect(fs.existsSync(at), file).toBe(false)
      fs.writeFileSync(at, now)
      continue
    }
    const parts = fs.readFileSync(at, 'utf8').split(old)
    expect(parts.length, `${file} has once: ${old}`).toBe(2)
    fs.writeFileSync(at, parts.join(now))
  }
}

/** What the copy has besides links to packages and to the native module. */
const CRATES = ['home', 'pool', 'ledger', 'flatkv-storage'].map((name) => `crates/${name}/src`)
const COPIED = ['ts', 'test/unit', 'test/e2e', 'docs', ...CRATES, 'SECURITY.md', 'package.json', 'tsconfig.json']
const LINKED = ['node_modules', 'native']

/** Unit tests that check tables against each other and against the docs. */
const TESTS = ['config-table', 'core-config', 'docs', 'methods', 'metrics-dashboards', 'metrics-scrape', 'rpc-page']

let dir = ''

/** Runs a program of Node in the copy and returns its output. */
function run(...args: readonly string[]): string {
  const { HEARTH_SLOT, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: dir, encoding: 'utf8', env })
  expect(status, stdout + stderr).toBe(0)
  return stdout
}

const read = (file: string): string => fs.readFileSync(path.join(dir, file), 'utf8')

beforeAll(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-recipes-'))
  for (const name of COPIED) fs.cpSync(path.join(ROOT, name), path.join(dir, name), { recursive: true })
  for (const name of LINKED) fs.symlinkSync(path.join(ROOT, name), path.join(dir, name))
  for (const patch of patches.values()) apply(dir, patch)
  run('node_modules/typescript/bin/tsc', '-p', 'ts/tsconfig.json')
  run('dist/cli/write-docs.js')
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

describe('the recipes of CONTRIBUTING.md', () => {
  it('touch three files each', () => {
    const files = Object.fromEntries(Array.from(patches, ([title, patch]) => [title, new Set(patch.map(({ file }) => file)).size]))
    expect(files).toEqual({ 'An RPC method': 3, 'A setting': 3, 'A metric': 3 })
  })

  it('put the method on its page, with type and example', () => {
    const added = read('docs/rpc.md')
    expect(added).toContain('| `eth_getBlockId` | `block` | read | Number and hash of a canonical block. |')
    expect(added).toContain('### eth_getBlockId\n\nNumber and hash of a canonical block.\n')
    expect(added).toContain('- Result: `{number, hash}`\n')
    expect(added).toContain('{"method": "eth_getBlockId", "params": ["0x0"]}')
  })

  it('put the setting into the list, the help and the pages', () => {
    const listed = run('dist/cli/main.js', 'config', 'list')
    expect(listed).toContain('evm.max_log_topics')
    expect(read('docs/settings.md')).toContain('| `max_log_topics` |')
  })

  it('put the metric on its page', () => {
    expect(read('docs/metrics.md')).toContain(
      '| `evmrpc_rate_limited_messages_total` | counter |  | `connection`: http, websocket | Messages refused by the rate limit of their client. |',
    )
  })

  it('leave the unit tests of the copy green', () => {
    const files = TESTS.map((name) => `test/unit/${name}.test.ts`)
    expect(run('node_modules/vitest/vitest.mjs', 'run', ...files)).toContain(`${TESTS.length} passed`)
  })
})
