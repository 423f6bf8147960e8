// Chains as files: an export that replaces nothing unasked, and what a backup says of its files.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hearth, rpc, startNode, tempHome } from './harness.ts'

/** Blocks of the chain besides the genesis. */
const BLOCKS = 12

const dir = tempHome()
const at = (name: string): string => path.join(dir, name)
const home = at('home')

beforeAll(async () => {
  const node = await startNode(['dev', '--home', home, '--state-commit.flatkv.fsync=none'])
  await rpc(node.url, 'anvil_mine', [`0x${BLOCKS.toString(16)}`])
  expect(await node.stop()).toBe(0)
  expect(hearth(['export', '--home', home, at('chain.rlp')]).stdout).toBe(`exported ${BLOCKS} blocks to ${at('chain.rlp')}\n`)
}, 60_000)
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

describe('hearth export', () => {
  const plain = (): Buffer => fs.readFileSync(at('chain.rlp'))

  it('replaces a file only where that is asked for', () => {
    const file = at('there.rlp')
    fs.writeFileSync(file, 'mine')
    expect(hearth(['export', '--home', home, file])).toMatchObject({
      status: 2,
      stderr: `error: ${file} exists already: give --force to replace it, or another name\n`,
    })
    expect(fs.readFileSync(file, 'utf8')).toBe('mine')
    expect(hearth(['export', '--home', home, '--force', file]).status).toBe(0)
    expect(fs.readFileSync(file).equals(plain())).toBe(true)
    expect(hearth(['export', '--home', home, dir]).stderr).toBe(`error: ${dir} is a folder: name a file in it\n`)
  })
})

describe('hearth backup', () => {
  const links = (folder: string): number[] =>
    fs
      .readdirSync(folder, { recursive: true, withFileTypes: true })
      .flatMap((entry) => (entry.isFile() ? [fs.statSync(path.join(entry.parentPath, entry.name)).nlink] : []))

  it('says what is shared, how to check it and how to go back', () => {
    const { stdout } = hearth(['backup', '--home', home, '--to', at('first')])
    const [made] = fs.readdirSync(at('first'))
    const folder = path.join(at('first'), made as string)
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(new RegExp(`^backup of height ${BLOCKS} \\(0x[0-9a-f]{64}\\) in ${folder}$`))
    expect(lines[1]).toMatch(
      /^copied \d+ files \(.*\); \d+ files? \(.*\) (is a|are) hard links? to the same data on the disk as the data directory or an earlier backup$/,
    )
    expect(lines.slice(2)).toEqual([
      `to check it: hearth db verify --home ${folder}`,
      `to go back to it: stop the node, move the data directory away, and cp -a ${folder} to its place`,
    ])
    expect(Math.max(...links(folder))).toBeGreaterThan(1)
    expect(hearth(['db', 'verify', '--home', folder]).stdout).toMatch(new RegExp(`^height ${BLOCKS}: sound\n`))
  })
})
