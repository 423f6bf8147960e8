// hearth db on an imported chain of more than a hundred segments: table-info counts the files on
// disk, and a scrub reads all of them.
import fs from 'node:fs'
import path from 'node:path'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ScrubReport, TableInfo } from '../../ts/core/db.ts'
import { hearth, rpc, startNode, tempHome } from './harness.ts'

/** Blocks besides the genesis, with a transaction each. */
const BLOCKS = 420

/** Keys of a segment; a block has two in each table. */
const SEGMENT_KEYS = 16

/** Segments of the tables of blocks and receipts, that of the last ones included. */
const SEGMENTS = 2 * Math.ceil((2 * (BLOCKS + 1)) / SEGMENT_KEYS)

const QUIET = '--state-commit.flatkv.fsync=none'

const dir = tempHome()
const home = path.join(dir, 'home')
const ledger = path.join(home, 'data', 'ledger')

function db<T>(...args: string[]): { status: number | null; report: T } {
  const r = hearth(['db', ...args, '--home', home, '--json'])
  return { status: r.status, report: JSON.parse(r.stdout) as T }
}

beforeAll(async () => {
  const dev = path.join(dir, 'dev')
  const node = await startNode(['dev', '--home', dev, QUIET])
  const account = mnemonicToAccount('test test test test test test test test test test test junk')
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, chainId: 31_337, type: 'eip1559' } as const
  for (let nonce = 0; nonce < BLOCKS; nonce++) {
    const raw = await account.signTransaction({ to: account.address, value: 1n, nonce, ...fees, gas: 21_000n })
    expect((await rpc(node.url, 'eth_sendRawTransaction', [raw])).error).toBeUndefined()
  }
  expect(await node.stop()).toBe(0)
  const chain = path.join(dir, 'chain.rlp')
  expect(hearth(['export', '--home', dev, chain]).status).toBe(0)
  const genesis = path.join(dev, 'config', 'genesis.json')
  const keys = `--littable.segment_keys=${SEGMENT_KEYS}`
  expect(hearth(['import', '--home', home, '--genesis', genesis, chain, keys, QUIET]).status).toBe(0)
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

const chainTables = <T extends { name: string }>(all: T[]): T[] => all.filter(({ name }) => ['blocks', 'receipts'].includes(name))

it('table-info counts segments, records, keys and heights', () => {
  const { status, report } = db<TableInfo[]>('table-info')
  expect(status).toBe(0)
  const infos = chainTables(report)
  expect(infos).toHaveLength(2)
  for (const info of infos) {
    expect(info).toMatchObject({ records: BLOCKS + 1, keys: 2 * (BLOCKS + 1), lowest: 0, highest: BLOCKS, floor: 0 })
    const files = fs.readdirSync(path.join(ledger, info.name)).filter((name) => name.endsWith('.seg'))
    // One more may be there as a file, made ahead.
    expect(files.length - info.segments).toBeGreaterThanOrEqual(0)
    expect(files.length - info.segments).toBeLessThanOrEqual(1)
  }
  const segments = infos.reduce((sum, info) => sum + info.segments, 0)
  expect(segments).toBe(SEGMENTS)
  expect(segments).toBeGreaterThan(100)
})

it('scrub reads every segment and finds the one flipped bit', () => {
  const sound = db<ScrubReport[]>('scrub')
  expect([sound.status, sound.report.map(({ damaged }) => damaged)]).toEqual([0, sound.report.map(() => 0)])
  for (const name of ['blocks', 'receipts']) {
    const report = sound.report.find(({ table }) => table === name)
    expect(report).toMatchObject({ records: BLOCKS + 1, damage: [] })
    const bytes = fs
      .readdirSync(path.join(ledger, name))
      .filter((file) => file.endsWith('.seg'))
      .reduce((sum, file) => sum + fs.statSync(path.join(ledger, name, file)).size, 0)
    // Every byte, but for what was made ahead, and the pages of key indexes besides.
    expect(report?.bytes).toBeGreaterThan(0.99 * bytes)
  }
  const files = fs.readdirSync(path.join(ledger, 'receipts')).filter((file) => file.endsWith('.seg'))
  const name = files.sort()[Math.floor(files.length / 2)] as string
  const file = path.join(ledger, 'receipts', name)
  const bytes = fs.readFileSync(file)
  const at = Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] as number) ^ 1
  fs.writeFileSync(file, bytes)
  const { status, report } = db<ScrubReport[]>('scrub', '--table', 'receipts')
  expect(status).toBe(1)
  expect(report[0]?.damaged).toBeGreaterThanOrEqual(1)
  expect(report[0]?.damage.every((line) => line.includes(name))).toBe(true)
})
