// A type name has one meaning within a crate; exceptions are in type-names.json, with reasons.
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import exceptions from './type-names.json' with { type: 'json' }

const ROOT = path.resolve(import.meta.dirname, '../..')

const CRATES: readonly (readonly [crate: string, source: string])[] = [
  ...fs.readdirSync(path.join(ROOT, 'crates')).map((crate) => [crate, `crates/${crate}/src`] as const),
  ['native', 'native/src'],
]

/** Types at the top level of a file; those of tests are indented or in files of their own. */
const declared = (source: string): string[] =>
  [...source.matchAll(/^(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|union|trait|type) (\w+)/gm)].map(([, name = '']) => name)

/** Names that several files of a crate declare, with these files. */
function repeated(source: string): Map<string, string[]> {
  const files = new Map<string, string[]>()
  for (const file of fs.readdirSync(path.join(ROOT, source), { recursive: true, encoding: 'utf8' }).sort()) {
    if (!file.endsWith('.rs') || /(?:^|[/_])tests?(?:\/|\.rs$)/.test(file)) continue
    for (const name of declared(fs.readFileSync(path.join(ROOT, source, file), 'utf8'))) files.set(name, [...(files.get(name) ?? []), file])
  }
  return new Map([...files].filter(([, of]) => of.length > 1))
}

describe('a type name', () => {
  it.each(CRATES)('has one meaning in %s', (crate, source) => {
    const names = [...repeated(source)].filter(([name]) => !exceptions.some((e) => e.crate === crate && e.name === name))
    expect(names).toEqual([])
  })

  it('is an exception only while it is repeated', () => {
    const stale = exceptions.filter(({ crate, name }) => !repeated(`crates/${crate}/src`).has(name))
    expect(stale).toEqual([])
  })

  it('is found with and without visibility', () => {
    const source = 'struct A;\npub struct B(u8);\npub(crate) enum C {}\n    struct D;\nunsafe trait E {}\n// struct F\npub type G<T> = T;\n'
    expect(declared(source)).toEqual(['A', 'B', 'C', 'E', 'G'])
  })
})
