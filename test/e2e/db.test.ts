// hearth db on the tables of a home: listing, scrub reports, refusals while a node is running,
// pruning and rebasing.
import fs from 'node:fs'
import path from 'node:path'
import { createWalletClient, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PruneReport, ScrubReport, TableInfo, TableList } from '../../ts/core/db.ts'
import { hearth, rpc, startNode, tempHome } from './harness.ts'

/** Blocks of the chain besides the genesis. */
const BLOCKS = 60

/**
 * Records of the tables blocks, capsules and receipts: the genesis is not executed, so it has no
 * capsule.
 */
const RECORDS = [BLOCKS + 1, BLOCKS, 0, BLOCKS + 1] as const

/** Eight blocks in a segment of each table: a block has two keys. */
const SETTINGS = ['--littable.segment_keys=16', '--state-commit.flatkv.fsync=none'] as const

const dir = tempHome()
const home = path.join(dir, 'home')
const ledger = path.join(home, 'data', 'ledger')

/** Runs `hearth db` with the home; gives exit code, report and what went to standard error. */
function db<T>(...args: string[]): { status: number | null; report: T; stderr: string } {
  const r = hearth(['db', ...args, '--home', home, '--json'])
  return { status: r.status, report: (r.stdout === '' ? undefined : JSON.parse(r.stdout)) as T, stderr: r.stderr }
}

const segments = (table: string): string[] =>
  fs
    .readdirSync(path.join(ledger, table))
    .filter((name) => name.endsWith('.seg'))
    .sort()

// A development chain, exported and imported into a home with small segments.
beforeAll(async () => {
  const dev = path.join(dir, 'dev')
  const node = await startNode(['dev', '--home', dev, '--state-commit.flatkv.fsync=none'])
  const account = mnemonicToAccount('test test test test test test test test test test test junk')
  const wallet = createWalletClient({ account, chain: hardhat, transport: http(node.url) })
  const fees = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
  for (let nonce = 0; nonce < BLOCKS; nonce++) await wallet.sendTransaction({ to: account.address, value: 1n, nonce, ...fees })
  expect(await node.stop()).toBe(0)
  const chain = path.join(dir, 'chain.rlp')
  expect(hearth(['export', '--home', dev, chain]).status).toBe(0)
  const genesis = path.join(dev, 'config', 'genesis.json')
  expect(hearth(['import', '--home', home, '--genesis', genesis, chain, ...SETTINGS]).status).toBe(0)
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

describe('hearth db', () => {
  it('lists its commands, and those of its flags', () => {
    const list = hearth(['db'])
    expect(list.status).toBe(2)
    for (const name of ['ls', 'table-info', 'scrub', 'prune', 'rebase']) expect(list.stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
    expect(hearth(['db', '--help'])).toMatchObject({ status: 0, stdout: list.stdout })
    expect(hearth(['db', 'prune', '--help']).stdout).toContain('usage: hearth db prune [FLAGS]')
    expect(hearth(['db', 'scrb'])).toMatchObject({ status: 2, stderr: expect.stringContaining('did you mean scrub?') })
    expect(hearth(['db', 'prune', '--home', home])).toMatchObject({ status: 2, stderr: 'error: --table is missing\n' })
    const args = ['db', 'prune', '--home', home, '--table', 'blocks', '--below', 'x']
    expect(hearth(args)).toMatchObject({ status: 2, stderr: 'error: --below takes a height, not "x"\n' })
  })

  it('lists the tables and what is in them', () => {
    expect(db<TableList>('ls').report).toMatchObject({
      roots: [ledger],
      tables: [{ name: 'blocks' }, { name: 'capsules' }, { name: 'natives' }, { name: 'receipts' }],
    })
    const { report } = db<TableInfo[]>('table-info')
    expect(report.map(({ name }) => name)).toEqual(['blocks', 'capsules', 'natives', 'receipts'])
    // No block of a development chain has native transactions.
    expect(report[2]).toMatchObject({ records: 0, keys: 0 })
    for (const [i, name] of [
      [0, 'blocks'],
      [1, 'capsules'],
      [3, 'receipts'],
    ] as const) {
      // The genesis is not executed: it has no capsule.
      const lowest = name === 'capsules' ? 1 : 0
      const records = BLOCKS + 1 - lowest
      const counts = { name, shards: 1, records, keys: 2 * records, lowest, highest: BLOCKS, floor: 0 }
      expect(report[i]).toMatchObject(counts)
      // One more may be there as a file, made ahead.
      expect(report[i]?.segments).toBe(Math.ceil(records / 8))
      expect(segments(name).length - (report[i]?.segments ?? 0)).toBeLessThanOrEqual(1)
    }
    expect(db<TableInfo[]>('table-info', '--table', 'receipts').report.map(({ name }) => name)).toEqual(['receipts'])
    const text = hearth(['db', 'ls', '--home', home]).stdout
    expect(text).toMatch(/^table +keys +size\nblocks +122 /)
    const wrong = db('table-info', '--table', 'blokcs')
    expect([wrong.status, wrong.stderr]).toEqual([
      1,
      'error: there is no table "blokcs"; the tables are blocks, capsules, natives, receipts\n',
    ])
    const none = hearth(['db', 'ls', '--home', path.join(dir, 'nowhere')])
    expect([none.status, none.stderr]).toEqual([1, expect.stringContaining('holds no tables')])
  })

  it('scrubs what is sound', () => {
    const { status, report } = db<ScrubReport[]>('scrub')
    expect(status).toBe(0)
    expect(report.map(({ records }) => records)).toEqual(RECORDS)
    for (const table of report) expect(table).toMatchObject({ damaged: 0, damage: [] })
    expect(hearth(['db', 'scrub', '--table', 'blocks', '--home', home]).stdout).toMatch(/^blocks: sound \(\d+ segments, 61 records, /)
  })

  it('reads while a node runs, and refuses changes with its pid', async () => {
    const node = await startNode(['start', '--home', home])
    try {
      expect(db<TableInfo[]>('table-info', '--table', 'blocks').report[0]).toMatchObject({ records: BLOCKS + 1 })
      expect(db<ScrubReport[]>('scrub').report.map(({ damaged }) => damaged)).toEqual([0, 0, 0, 0])
      for (const args of [
        ['prune', '--table', 'blocks', '--below', '20'],
        ['rebase', '--to', ledger],
      ]) {
        const refused = db(...args)
        expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining(`is in use by process ${node.pid} on `)])
      }
    } finally {
      await node.stop()
    }
  })

  it('reports a flipped bit with its file, and the rest as sound', () => {
    const name = segments('receipts')[2] as string
    const file = path.join(ledger, 'receipts', name)
    const bytes = fs.readFileSync(file)
    const at = Math.floor(bytes.length / 2)
    const flip = (): void => {
      bytes[at] = (bytes[at] as number) ^ 1
      fs.writeFileSync(file, bytes)
    }
    flip()
    try {
      const { status, report } = db<ScrubReport[]>('scrub')
      expect(status).toBe(1)
      expect(report.slice(0, 3)).toMatchObject([{ damaged: 0 }, { damaged: 0 }, { damaged: 0 }])
      expect(report[3]?.damaged).toBeGreaterThanOrEqual(1)
      expect(report[3]?.damage[0]).toContain(name)
    } finally {
      flip()
    }
    expect(db<ScrubReport[]>('scrub').status).toBe(0)
  })

  it('spreads over further folders, and brings all back', () => {
    const further = path.join(dir, 'volume')
    const chain = path.join(dir, 'chain.rlp')
    const settings = [...SETTINGS, `--littable.extra_roots=${further}`]
    expect(hearth(['import', '--home', home, chain, ...settings]).status).toBe(0)
    // Once there, it must be named.
    const missing = hearth(['export', '--home', home, path.join(dir, 'x.rlp')])
    expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining(further)])
    const moved = hearth(['db', 'rebase', '--home', home, `--littable.extra_roots=${further}`, '--to', ledger, '--json'])
    expect([moved.status, moved.stderr]).toEqual([0, ''])
    expect(JSON.parse(moved.stdout)).toMatchObject({ roots: [ledger] })
    expect(fs.existsSync(path.join(further, 'blocks'))).toBe(false)
    expect(hearth(['export', '--home', home, path.join(dir, 'x.rlp')]).status).toBe(0)
    const { report } = db<ScrubReport[]>('scrub')
    expect(report.map(({ records, damaged }) => [records, damaged])).toEqual(RECORDS.map((records) => [records, 0]))
  })

  it('prunes whole segments below a height, reads then fail', async () => {
    const before = db<TableInfo[]>('table-info', '--table', 'receipts').report[0] as TableInfo
    const { status, report } = db<PruneReport>('prune', '--table', 'receipts', '--below', '20')
    expect([status, report.floor]).toEqual([0, 20])
    expect(report.segmentsRemoved).toBeGreaterThanOrEqual(1)
    expect(report.bytesAfter).toBeLessThan(report.bytesBefore)
    const after = db<TableInfo[]>('table-info', '--table', 'receipts').report[0] as TableInfo
    expect(after.segments).toBe(before.segments - report.segmentsRemoved)
    expect([after.floor, after.highest]).toEqual([20, BLOCKS])
    expect(after.lowest).toBeGreaterThan(8)
    expect(after.lowest).toBeLessThanOrEqual(20)
    const high = db('prune', '--table', 'receipts', '--below', '61')
    expect([high.status, high.stderr]).toEqual([1, expect.stringContaining('numbers up to 60: a floor of 61 would remove everything')])

    const node = await startNode(['start', '--home', home])
    try {
      const logs = async (fromBlock: string) => rpc(node.url, 'eth_getLogs', [{ fromBlock, toBlock: '0x3c' }])
      expect((await logs('0x14')).result).toEqual([])
      const receipts = await rpc(node.url, 'eth_getBlockReceipts', ['0x5'])
      expect(receipts.error?.message).toBe('block 5 was pruned: receipts are kept from block 20 on')
      expect((await rpc(node.url, 'eth_getBlockReceipts', ['0x14'])).result).toHaveLength(1)
      expect((await rpc(node.url, 'eth_getBlockByNumber', ['0x5', false])).result).toMatchObject({ number: '0x5' })
    } finally {
      await node.stop()
    }
  })
})
