// Checks docs/lifecycle.md, which is written by hand, against the settings, messages and limits of
// the program.
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { EXIT } from '../../ts/cli/exit.ts'
import { isSettingKey, settingOf, toToml } from '../../ts/config/index.ts'
import { nodeIsStarting } from '../../ts/rpc/errors.ts'
import { Readiness } from '../../ts/server/index.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const page = fs.readFileSync(path.join(ROOT, 'docs/lifecycle.md'), 'utf8')
const unbroken = page.replaceAll(/\s+/g, ' ')

/** Names of states and where each leads, by section. */
function lifecycles(): Map<string, { state: string; to: string }[]> {
  const found = new Map<string, { state: string; to: string }[]>()
  for (const section of page.split('\n## ').slice(1)) {
    const rows: { state: string; to: string }[] = []
    let state = ''
    for (const line of section.split('\n')) {
      const cells = line.split('|').map((cell) => cell.trim())
      if (cells.length !== 6 || !line.startsWith('|') || /^-*$|^state$/.test(cells[1] ?? '-') === (cells[1] !== '')) continue
      state = /^\*\*(.+)\*\*$/.exec(cells[1] ?? '')?.[1] ?? state
      rows.push({ state, to: cells[4] ?? '' })
    }
    found.set(section.split('\n')[0] ?? '', rows)
  }
  return found
}

describe('docs/lifecycle.md', () => {
  it('has states that are all reached, and lead to states', () => {
    const all = lifecycles()
    expect([...all.keys()]).toEqual(['Of a node', 'Of a block', 'Of a transaction'])
    for (const [thing, rows] of all) {
      const names = [...new Set(rows.map(({ state }) => state))]
      expect(names.length, thing).toBeGreaterThan(4)
      const reached = new Set([names[0], ...rows.flatMap(({ to }) => (to === '' ? [] : [to]))])
      expect([...reached].sort(), thing).toEqual([...names].sort())
    }
  })

  it('names settings that there are, with their defaults', () => {
    const keys = [...page.matchAll(/`([a-z][\w-]*(?:\.[\w-]+)+)`/g)]
      .map(([, key]) => key ?? '')
      .filter((key) => !/\.(md|json|toml)$/.test(key))
    expect(keys.length).toBeGreaterThan(6)
    expect(keys.filter((key) => !isSettingKey(key))).toEqual([])
    const text = (key: string, value: unknown): string => (isSettingKey(key) ? toToml(key, value).replaceAll('"', '') : '')
    const said = [...unbroken.matchAll(/`([\w.-]+)` \(default ([^,)]+)(?:, ([^)]+) under hearth dev)?\)/g)]
    expect(said.length).toBeGreaterThan(4)
    for (const [, key = '', value, ofDev] of said) {
      const { default: byDefault, devDefault } = isSettingKey(key) ? settingOf(key) : { default: undefined }
      expect([key, value, ofDev]).toEqual([key, text(key, byDefault), devDefault === undefined ? undefined : text(key, devDefault)])
    }
  })

  it('has the words of probes and of requests that come early', async () => {
    const readiness = new Readiness()
    const [opening] = (await readiness.report()).reasons
    readiness.drain()
    const [draining] = (await readiness.report()).reasons
    for (const reason of [opening, draining]) expect(page).toContain(`503, \`${reason}\``)
    const { code, message } = nodeIsStarting()
    expect(page).toContain(`error ${code}, \`${message}\``)
    expect(unbroken).toContain(`at once with exit code ${EXIT.stopped}`)
    expect(page).toContain(`exit code ${EXIT.done} after a clean stop`)
  })

  it('has the number of refused blocks that are kept', () => {
    const source = fs.readFileSync(path.join(ROOT, 'crates/chain/src/bad_blocks.rs'), 'utf8')
    const most = /MAX_BAD_BLOCKS: usize = (\d+);/.exec(source)?.[1]
    expect(page).toContain(`The last ${most} are kept`)
  })
})
