// Checks the map in ARCHITECTURE.md: its components and links exist, every component is on it, and
// the arrows hold.
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../..')
const map = fs.readFileSync(path.join(ROOT, 'ARCHITECTURE.md'), 'utf8')
const rows = map
  .split('\n')
  .map((line) => /^\| \[([^\]]+)\]\(([^)]+)\) \|.*\| ([^|]+) \|$/.exec(line))
  .filter((m) => m !== null)
  .map(([, room = '', link = '', arrow = '']) => ({ room, link, arrow: arrow.trim() }))

/** Every file below a folder that ends so. */
function walk(dir: string, suffix: string): string[] {
  return fs.readdirSync(path.join(ROOT, dir), { withFileTypes: true }).flatMap((e) => {
    const at = path.join(dir, e.name)
    if (e.isDirectory()) return walk(at, suffix)
    return e.name.endsWith(suffix) ? [at] : []
  })
}

/** Components of this repository that a crate's manifest depends on, except for tests. */
function crateUses(manifest: string): string[] {
  const text = fs.readFileSync(path.join(ROOT, manifest), 'utf8')
  const dependencies = /^\[dependencies\]\n([\s\S]*?)(?=^\[|$(?![\s\S]))/m.exec(text)?.[1] ?? ''
  return [...dependencies.matchAll(/^hearth-([a-z-]+)/gm)].map((m) => m[1] ?? '')
}

describe('the map', () => {
  it('links only to what exists', () => {
    const docs = ['ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md', 'SECURITY.md']
    const dead = docs.flatMap((doc) =>
      [...fs.readFileSync(path.join(ROOT, doc), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map((m) => m[1] ?? '')
        .filter((link) => !fs.existsSync(path.join(ROOT, link)))
        .map((link) => `${doc}: ${link}`),
    )
    expect(dead).toEqual([])
  })

  it('names every room', () => {
    const crates = fs.readdirSync(path.join(ROOT, 'crates')).map((n) => `crates/${n}`)
    const ts = fs
      .readdirSync(path.join(ROOT, 'ts'), { withFileTypes: true })
      .filter((e) => e.isDirectory())
      .map((e) => `ts/${e.name}`)
    const rooms = rows.map((r) => r.room)
    expect([...crates, ...ts].filter((room) => !rooms.includes(room))).toEqual([])
    expect(rooms.filter((room) => !fs.existsSync(path.join(ROOT, room)))).toEqual([])
  })
})

describe('the arrows', () => {
  const crates = rows.filter((r) => r.room.startsWith('crates/') || r.room === 'native')
  it.each(crates)('$room uses only what its row names', ({ room, arrow }) => {
    const allowed = arrow === '-' ? [] : arrow.split(', ')
    expect(crateUses(`${room}/Cargo.toml`).filter((used) => !allowed.includes(used))).toEqual([])
  })

  it('only native/ names napi', () => {
    const naming = fs
      .readdirSync(path.join(ROOT, 'crates'))
      .filter((n) => /^napi/m.test(fs.readFileSync(path.join(ROOT, 'crates', n, 'Cargo.toml'), 'utf8')))
    expect(naming).toEqual([])
  })

  it('only ts/core imports native/', () => {
    const importing = walk('ts', '.ts').filter((file) =>
      /(?:from |import\()'[^']*\/native\//.test(fs.readFileSync(path.join(ROOT, file), 'utf8')),
    )
    expect(importing.filter((file) => !file.startsWith(path.join('ts', 'core')))).toEqual([])
  })

  it('blocks and states are read through ChainReader', () => {
    // Snapshots, flushes and verification are operations on the state store itself.
    const operations = [/^crates\/admin\/src\/(db\/state|inbox\/work)\.rs$/, /^crates\/consensus\/src\//]
    const components = ['home', 'traces', 'engine', 'consensus', 'rpc', 'admin', 'node']
    const wrong = components
      .flatMap((name) => walk(`crates/${name}/src`, '.rs'))
      .filter((file) => /chain(?:\(\))?\s*\.(?:ledger|kv)\(\)/.test(fs.readFileSync(path.join(ROOT, file), 'utf8')))
    expect(wrong.filter((file) => !operations.some((allowed) => allowed.test(file)))).toEqual([])
  })

  it('drivers of tracers are compiled for the crate traces alone', () => {
    // They are generic: each crate that calls them compiles an EVM for every tracer.
    const driver = /\bhearth_tracers::(?:\{[^}]*)?\b(?:trace_(?:block|transaction|elements)|profile_block)/
    const components = fs.readdirSync(path.join(ROOT, 'crates')).filter((name) => !['tracers', 'traces'].includes(name))
    const calling = (name: string) =>
      walk(`crates/${name}/src`, '.rs').filter((file) =>
        driver.test(fs.readFileSync(path.join(ROOT, file), 'utf8').replaceAll(/\/\/.*/g, '')),
      )
    expect(components.flatMap(calling)).toEqual([])
    expect(calling('traces')).toContain('crates/traces/src/replayed.rs')
  })

  it('TypeScript rooms import along their arrows', () => {
    const allowed = new Map(rows.filter((r) => r.room.startsWith('ts/')).map((r) => [r.room.slice(3), r.arrow]))
    const wrong = walk('ts', '.ts').flatMap((file) => {
      const [, room = ''] = file.split(path.sep)
      const arrow = allowed.get(room)
      if (arrow === undefined || arrow === 'all of ts') return []
      const uses = [...fs.readFileSync(path.join(ROOT, file), 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)]
        .map((m) => path.relative('ts', path.join(path.dirname(file), m[1] ?? '')).split(path.sep)[0] ?? '')
        .filter((used) => allowed.has(used) && used !== room)
      return uses.filter((used) => !arrow.split(', ').includes(used)).map((used) => `${file} imports ${used}`)
    })
    expect(wrong).toEqual([])
  })
})

describe('the house', () => {
  it('has nothing at the top level beyond the agreed list', () => {
    const agreed =
      /^(README\.md|ARCHITECTURE\.md|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|LICENSE|package(-lock)?\.json|Cargo\.(toml|lock)|tsconfig\.json|crates|native|ts|test|docs|dist|target|node_modules|\..*|rust-toolchain\.toml|rustfmt\.toml|clippy\.toml|deny\.toml|biome\.json|vitest\.config\.ts)$/
    expect(fs.readdirSync(ROOT).filter((name) => !agreed.test(name))).toEqual([])
  })

  it('keeps source files under 800 lines', () => {
    const sources = [
      ...walk('crates', '.rs'),
      ...walk('native/src', '.rs'),
      ...walk('native/setup', '.mjs'),
      ...walk('ts', '.ts'),
      ...walk('test', '.ts'),
    ]
    const long = sources.filter((file) => fs.readFileSync(path.join(ROOT, file), 'utf8').split('\n').length > 800)
    expect(long).toEqual([])
  })
})
