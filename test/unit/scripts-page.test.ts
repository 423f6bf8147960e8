// The page docs/scripts.md is written by hand: each member in it has a test, and its names,
// settings and numbers are the program's.
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { isSettingKey } from '../../ts/config/index.ts'
import { SCRIPT_NAMES } from '../../ts/tracer/names.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const read = (file: string): string => fs.readFileSync(path.join(ROOT, file), 'utf8')
const page = read('docs/scripts.md')
const unbroken = page.replaceAll(/\s+/g, ' ')
const tests = read('test/unit/tracer-api.test.ts')

/** Cells of the table rows of a section. */
const rows = (section: string): string[][] =>
  (page.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')))

const OBJECTS = ['The object of the script', 'log', 'db', 'frame', 'frameResult', 'ctx', 'The global scope']
const members = OBJECTS.flatMap((object) => rows(object).map(([name = '', , test = '']) => ({ name, test })))

describe('docs/scripts.md', () => {
  it('has the members of every object', () => {
    expect(members).toHaveLength(52)
  })

  it.each(members)('$name has the test that the page names', ({ test }) => {
    expect(test).not.toBe('')
    expect(tests).toContain(`'${test}`)
  })

  it('names the scripts that come with the node', () => {
    expect(unbroken).toContain(`the name of a script that comes with the node: ${SCRIPT_NAMES.map((name) => `\`${name}\``).join(', ')}.`)
  })

  it('names settings that exist', () => {
    const keys = [...page.matchAll(/`(evm\.[\w.]+)`/g)].map(([, key = '']) => key)
    expect(keys.length).toBeGreaterThan(6)
    expect(keys.filter((key) => !isSettingKey(key))).toEqual([])
  })

  it('has the layers and limits of the sandbox', () => {
    const layers = rows('Confinement').map(([name = '']) => name.replaceAll('`', ''))
    const declared = read('crates/metrics/src/script.rs')
    expect(layers).toHaveLength(11)
    for (const layer of layers) expect(declared, layer).toContain(`"${layer}"`)
    expect(read('crates/sandbox/src/keeper.rs')).toContain('PROCESS_BYTES: u64 = 192 << 20;')
    expect(unbroken).toContain('`evm.trace_js_memory_bytes` plus 192 MiB')
    expect(read('crates/sandbox/src/confine.rs')).toContain('ADDRESS_SPACE_BYTES: u64 = 8 << 30;')
    expect(unbroken).toContain('plus 8 GiB beyond the mappings of Node')
  })
})
