// What a release changes: versions, and the changelog. A dry run says it and changes nothing.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkVersion, compareVersions, cutChangelog, RELEASE_FILES, unreleased, withVersion } from '../../native/setup/release/version.mjs'

const ROOT = path.resolve(import.meta.dirname, '../..')
const read = (file: string): string => fs.readFileSync(path.join(ROOT, file), 'utf8')
const { version: PRESENT } = JSON.parse(read('package.json')) as { version: string }
const [major = 0, minor = 0] = PRESENT.split('.').map(Number)
const NEXT = `${major}.${minor + 1}.0-rc.1`

describe('versions', () => {
  test('are ordered as section 11 of Semantic Versioning says', () => {
    const ordered = [
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.2.0',
      '1.10.0',
    ]
    for (const [i, a] of ordered.entries())
      for (const [j, b] of ordered.entries()) expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(i - j)])
    for (const wrong of ['1', '1.2', '01.2.3', '1.2.3-', 'v1.2.3', '1.2.3+build'])
      expect(() => compareVersions(wrong, '1.0.0')).toThrow(`${wrong} is no version`)
  })

  test('go up; the present one is released once', () => {
    expect(() => checkVersion('0.9.0', '0.10.0', '')).toThrow('0.9.0 comes before 0.10.0')
    checkVersion('0.10.0', '0.10.0', '# Changelog\n\n## Unreleased\n')
    expect(() => checkVersion('0.10.0', '0.10.0', '# Changelog\n\n## Unreleased\n\n## 0.10.0 - 2026-01-01\n')).toThrow(
      'was released already',
    )
  })

  test('all files with the version get the new one, only they', () => {
    for (const file of RELEASE_FILES.filter((name) => name !== 'CHANGELOG.md')) {
      const before = read(file)
      const { text, places } = withVersion(file, before, PRESENT, NEXT)
      const [was, is] = [before.split('\n'), text.split('\n')]
      const differing = was.flatMap((line, i) => (line === is[i] ? [] : [i]))
      expect([file, is.length]).toEqual([file, was.length])
      for (const i of differing) expect(is[i]).toBe(was[i]?.replaceAll(PRESENT, NEXT))
      const occurrences = differing.reduce((sum, i) => sum + (was[i] as string).split(PRESENT).length - 1, 0)
      expect([file, occurrences]).toEqual([file, places])
      // Other packages and crates may have the same version by chance: the tools find ours by name.
      expect(() => withVersion(file, text, PRESENT, NEXT)).toThrow(`${file} has the version ${PRESENT} in`)
    }
    const lock = withVersion('Cargo.lock', read('Cargo.lock'), PRESENT, NEXT).text
    expect([...lock.matchAll(/^name = "(hearth-[a-z-]+)"\nversion = "([^"]+)"/gm)].map(([, name, version]) => [name, version])).toEqual(
      [...read('Cargo.lock').matchAll(/^name = "(hearth-[a-z-]+)"/gm)].map(([, name]) => [name, NEXT]),
    )
    const { packages, version } = JSON.parse(withVersion('package-lock.json', read('package-lock.json'), PRESENT, NEXT).text)
    expect([version, packages[''].version]).toEqual([NEXT, NEXT])
  })
})

describe('the changelog', () => {
  const LOG = '# Changelog\n\n## Unreleased\n\n- One.\n- Two,\n  in two lines.\n\n## 0.1.0 - 2026-01-01\n\n- Zero.\n'

  test('is cut: the entries move below the version and the day', () => {
    expect(unreleased(LOG)).toBe('- One.\n- Two,\n  in two lines.')
    const cut = cutChangelog(LOG, '0.2.0', '2026-02-03')
    expect(cut).toBe(LOG.replace('## Unreleased\n', '## Unreleased\n\n## 0.2.0 - 2026-02-03\n'))
    expect(unreleased(cut)).toBe('')
    expect(() => cutChangelog(cut, '0.3.0', '2026-02-03')).toThrow('nothing to release')
    expect(() => cutChangelog(LOG, '0.1.0', '2026-02-03')).toThrow('has a heading for 0.1.0 already')
    expect(() => cutChangelog('# Changelog\n', '0.3.0', '2026-02-03')).toThrow('no heading')
  })
})

test('a dry run names each change and command, changes nothing', () => {
  const status = () => spawnSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' }).stdout
  const before = status()
  const release = (...args: string[]) =>
    spawnSync(process.execPath, [path.join(ROOT, 'native/setup/release/run.mjs'), ...args], { encoding: 'utf8' })
  const ran = release(NEXT, '--dry-run')
  expect([ran.status, ran.stderr]).toEqual([0, ''])
  for (const file of RELEASE_FILES) expect(ran.stdout).toContain(`${file}: `)
  expect(ran.stdout).toContain(`package.json: ${PRESENT} becomes ${NEXT} in 1 place\n`)
  expect(ran.stdout).toContain('run: HEARTH_PROFILE=release node native/setup/pack.mjs\n')
  expect(ran.stdout).toContain(`git tag -a v${NEXT}`)
  expect(status()).toBe(before)
  expect(release()).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('a release needs one version: npm run release -- VERSION [--dry-run]'),
  })
  expect(release(NEXT, '--unknown')).toMatchObject({ status: 1, stderr: expect.stringContaining("Unknown option '--unknown'") })
})
