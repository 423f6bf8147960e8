// The operations of the port are those of the core: names in `Operations` and `DevOperations` and
// the variants of the request enums in Rust are the same.
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../..')
const read = (file: string): string => fs.readFileSync(path.join(ROOT, file), 'utf8')

/** Files with the enums of `{"op":…,"args":…}`. */
const RUST = [
  'crates/rpc/src/request.rs',
  'crates/rpc/src/request/dev.rs',
  'crates/rpc/src/request/cosmos.rs',
  'crates/engine/src/request.rs',
  'crates/consensus/src/service.rs',
]

/** Interfaces of the port by file. */
const PORT = [
  ['ts/core/port.ts', 'Operations'],
  ['ts/core/dev-operations.ts', 'DevOperations'],
] as const

/** Operations that only tests of the core run. */
const OF_TESTS = ['addressOf', 'bech32Of', 'cosmosTxOf', 'isNative']

/** Variants in camel case, without those that only contain another enum. */
function variantsOf(file: string): string[] {
  const found = [
    ...read(file).matchAll(/^#\[serde\(rename_all = "camelCase", rename_all_fields = "camelCase"\)\]\npub enum \w+ \{\n([\s\S]*?)^\}/gm),
  ]
  expect(found.length, file).toBe(1)
  return found.flatMap(([, body = '']) => {
    const own = body.replaceAll(/^ {4}#\[serde\(skip\)\]\n.*\n/gm, '')
    return [...own.matchAll(/^ {4}([A-Z]\w*)/gm)].map(([, name = '']) => `${name[0]?.toLowerCase()}${name.slice(1)}`)
  })
}

function membersOf(file: string, name: string): string[] {
  const body = new RegExp(`^export interface ${name} .*\\{\\n([\\s\\S]*?)^\\}`, 'm').exec(read(file))?.[1] ?? ''
  return [...body.matchAll(/^ {2}(\w+):/gm)].map(([, member = '']) => member)
}

it('operations of the port are the variants of requests in Rust', () => {
  const port = PORT.flatMap(([file, name]) => membersOf(file, name))
  expect(port.length).toBeGreaterThan(100)
  expect([...port, ...OF_TESTS].sort()).toEqual(RUST.flatMap(variantsOf).sort())
})
