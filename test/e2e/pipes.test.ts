// Chains as files and streams, and commands that remove data: export to gzip and standard output,
// import from standard input, backups with and without hard links, a rollback that is shown before
// it is done.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { main } from '../../dist/cli/run.js'
import type { BackupReport, RollbackReport } from '../../ts/core/db.ts'
import { hearth, ROOT, rpc, startNode, tempHome } from './harness.ts'

/** Blocks of the chain besides the genesis. */
const BLOCKS = 12

const dir = tempHome()
const at = (name: string): string => path.join(dir, name)
const home = at('home')

/** Runs a command with bytes on standard input; gives what it writes as bytes. */
const piped = (args: readonly string[], input?: Buffer) =>
  spawnSync(process.execPath, [path.join(ROOT, 'dist/cli/hearth.cjs'), ...args], {
    maxBuffer: 1 << 28,
    ...(input === undefined ? {} : { input }),
  })

beforeAll(async () => {
  const node = await startNode(['dev', '--home', home, '--state-commit.flatkv.fsync=none'])
  await rpc(node.url, 'anvil_mine', [`0x${BLOCKS.toString(16)}`])
  expect(await node.stop()).toBe(0)
  expect(hearth(['export', '--home', home, at('chain.rlp')]).stdout).toBe(`exported ${BLOCKS} blocks to ${at('chain.rlp')}\n`)
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

describe('hearth export', () => {
  const plain = (): Buffer => fs.readFileSync(at('chain.rlp'))

  it('compresses a file that ends in .gz', () => {
    expect(hearth(['export', '--home', home, at('chain.rlp.gz')]).status).toBe(0)
    const packed = fs.readFileSync(at('chain.rlp.gz'))
    expect(packed.length).toBeLessThan(plain().length)
    expect(zlib.gunzipSync(packed).equals(plain())).toBe(true)
    const copy = hearth(['import', '--home', at('from-gz'), '--genesis', path.join(home, 'config', 'genesis.json'), at('chain.rlp.gz')])
    expect([copy.status, copy.stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^imported ${BLOCKS} blocks .*; the head is block ${BLOCKS} `)),
    ])
  })

  it('writes to standard output, and nothing else there', () => {
    const { status, stdout, stderr } = piped(['export', '--home', home, '-'])
    expect([status, stdout.equals(plain())]).toEqual([0, true])
    expect(stderr.toString()).toBe(`exported ${BLOCKS} blocks to standard output\n`)
    expect(fs.existsSync('-')).toBe(false)
  })

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
    expect(hearth(['export', '--home', home, '/dev/null']).status).toBe(0)
    expect(fs.statSync('/dev/null').isCharacterDevice()).toBe(true)
  })
})

describe('hearth import -', () => {
  const genesis = (): string => path.join(home, 'config', 'genesis.json')

  it.each([
    ['plain', 'chain.rlp'],
    ['compressed', 'chain.rlp.gz'],
  ])('reads %s blocks from standard input', (name, file) => {
    const { status, stdout } = piped(['import', '--home', at(`piped-${name}`), '--genesis', genesis(), '-'], fs.readFileSync(at(file)))
    expect([status, stdout.toString()]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^imported ${BLOCKS} blocks .*; the head is block ${BLOCKS} `)),
    ])
  })

  it('says where a stream is cut short, and takes one alone', () => {
    const cut = fs.readFileSync(at('chain.rlp')).subarray(0, -7)
    const { status, stderr } = piped(['import', '--home', at('cut'), '--genesis', genesis(), '-'], cut)
    expect([status, stderr.toString()]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^error: -: block ${BLOCKS - 1} of the file, byte \\d+: block: the file ends \\d+ bytes into it`)),
    ])
    expect(hearth(['import', '--home', at('twice'), '--genesis', genesis(), '-', '-']).stderr).toBe(
      'error: - (standard input) is given twice\n',
    )
  })
})

describe('hearth backup', () => {
  const backup = (...args: string[]): BackupReport => {
    const { status, stdout, stderr } = hearth(['backup', '--home', home, '--to', at('backups'), '--json', ...args])
    expect([status, stderr]).toEqual([0, ''])
    return JSON.parse(stdout) as BackupReport
  }
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
      /^copied \d+ files \(.*\); \d+ files? \(.*\) (is a|are) hard links? to the same data on the disk .* \(--copy copies them\)$/,
    )
    expect(lines.slice(2)).toEqual([
      `to check it: hearth db verify --home ${folder}`,
      `to go back to it: stop the node, move the data directory away, and cp -a ${folder} to its place`,
    ])
    expect(Math.max(...links(folder))).toBeGreaterThan(1)
    expect(hearth(['db', 'verify', '--home', folder]).stdout).toMatch(new RegExp(`^height ${BLOCKS}: sound\n`))
  })

  it('copies every file on demand, and keeps the newest', () => {
    const made = [backup('--copy'), backup('--copy'), backup('--copy', '--keep', '2')] as const
    for (const { linked, copied } of made) expect([linked.files, copied.files > 10]).toEqual([0, true])
    expect(made.map(({ removed }) => removed)).toEqual([[], [], [made[0].dir]])
    expect(fs.readdirSync(at('backups')).sort()).toEqual([made[1].dir, made[2].dir].map((of) => path.basename(of)).sort())
    expect(new Set(links(made[2].dir))).toEqual(new Set([1]))
    // A number is never given twice.
    expect(path.basename(backup('--keep=1').dir)).toMatch(/-0004$/)
    expect(hearth(['backup', '--home', home, '--to', at('backups'), '--keep', '0']).stderr).toBe(
      'error: --keep takes a number of backups from 1 to 1000000, not "0"\n',
    )
  })
})

describe('hearth db rollback', () => {
  const args = (...more: string[]): string[] => ['db', 'rollback', '--home', at('rolled'), '--to', '5', ...more]
  const height = (): number => JSON.parse(hearth(['db', 'info', '--home', at('rolled'), '--json']).stdout).head.height

  /** Runs the command as at a terminal where a question is answered. */
  async function atTerminal(answer: boolean): Promise<{ code: number; out: string; asked: string[] }> {
    let out = ''
    const asked: string[] = []
    const code = await main(args(), {
      out: (text) => {
        out += text
      },
      write: async () => undefined,
      err: () => undefined,
      interactive: false,
      ask: async (question) => {
        asked.push(question)
        return answer
      },
    })
    return { code, out, asked }
  }

  it('says what would go, and asks at a terminal', async () => {
    fs.cpSync(home, at('rolled'), { recursive: true })
    const would = new RegExp(
      `^would roll back from block ${BLOCKS} 0x[0-9a-f]{64} to block 5 0x[0-9a-f]{64}: ${BLOCKS - 5} blocks would leave the canonical chain; nothing was changed\n$`,
    )
    expect(hearth(args('--dry-run')).stdout).toMatch(would)
    const refused = await atTerminal(false)
    expect([refused.code, refused.asked]).toEqual([1, ['Roll back? [y/N] ']])
    expect(refused.out).toMatch(would)
    expect(height()).toBe(BLOCKS)
    expect(hearth(args('--dry-run').with(5, '99'))).toMatchObject({ status: 1, stderr: expect.stringContaining('99') })

    const done = await atTerminal(true)
    expect([done.code, done.asked.length]).toEqual([0, 1])
    expect(done.out).toMatch(
      new RegExp(
        `\nrolled back from block ${BLOCKS} 0x\\w{64} to block 5 0x\\w{64}: ${BLOCKS - 5} blocks left the canonical chain; they stay in the ledger\n$`,
      ),
    )
    expect(height()).toBe(5)
    const report = JSON.parse(hearth(args('--json', '--yes')).stdout) as RollbackReport
    expect([report.from.height, report.to.height, report.to.hash, report.head?.height]).toEqual([5, 5, report.from.hash, 5])
  })
})
