// The guides of docs/: each command and request in them is run, and prints what the guide shows.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { jsonDifference, textDifference } from './guides/page.ts'
import { follow } from './guides/reader.ts'
import { ROOT, tempHome } from './harness.ts'

/** How long the test of a clean clone may take, its build included, in milliseconds. */
const CLONE_MS_MAX = 40 * 60_000

const homes: string[] = []
const fresh = (): string => {
  const home = tempHome()
  homes.push(home)
  return home
}
afterAll(() => {
  for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
})

describe('a guide', () => {
  it.each([
    'docs/getting-started.md',
    'docs/tracing.md',
    'docs/explorer.md',
    'docs/operating.md',
    'docs/coming-from-anvil.md',
    'docs/follow.md',
  ])('%s is what its commands print', async (file) => {
    expect(await follow(file, { checkout: ROOT, home: fresh(), literally: false })).toEqual([])
  })

  it('the README’s transcript is that of getting-started.md', () => {
    const [readme, guide] = ['README.md', 'docs/getting-started.md'].map((file) => fs.readFileSync(path.join(ROOT, file), 'utf8'))
    const [, command = '', output = ''] = /```\n\$ (npx hearth trace .*)\n([\s\S]*?)```/.exec(readme ?? '') ?? []
    expect(guide).toContain(`\`\`\`sh\n${command}\n\`\`\`\n\n\`\`\`text\n${output}\`\`\``)
    // One screen, and below it the table of records, which benches write.
    expect(readme?.split('\n## Speed\n')[0]?.split('\n').length).toBeLessThanOrEqual(70)
  })

  const full = process.env.HEARTH_TEST === 'full'
  it.skipIf(!full)(
    'docs/getting-started.md holds literally in a clean clone',
    async () => {
      const home = fresh()
      const checkout = path.join(home, 'hearth')
      const cloned = spawnSync('git', ['clone', '--quiet', ROOT, checkout], { encoding: 'utf8' })
      expect(cloned.stderr).toBe('')
      expect(await follow('docs/getting-started.md', { checkout, home, literally: true })).toEqual([])
    },
    CLONE_MS_MAX,
  )
})

describe('the comparison', () => {
  it('takes … for the rest of a word and for whole lines', () => {
    expect(textDifference('a … c\n…\nend', 'a b c\none\ntwo\nend\n')).toBeUndefined()
    expect(textDifference('a … c\n…\nend', 'a b d\nend\n')).toContain('expected')
    expect(textDifference('one', 'one\ntwo')).toContain('two')
  })

  it('finds the first place where JSON differs', () => {
    expect(jsonDifference({ a: [1, '…'], b: '0x…', '…': '…' }, { a: [1, 2, 3], b: '0x12', c: 1 })).toBeUndefined()
    expect(jsonDifference({ a: [1, 2] }, { a: [1, 3] })).toBe('$.a[1]: expected 2, got 3')
    expect(jsonDifference({ a: 1 }, { a: 1, b: 2 })).toBe('$: b not expected')
    expect(jsonDifference({ a: 1 }, {})).toBe('$.a: expected 1, got undefined')
  })
})
