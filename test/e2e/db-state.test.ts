// hearth db on the state of a home, and hearth backup: the output and effect of each command, with
// and without a running node.
import fs from 'node:fs'
import path from 'node:path'
import { createWalletClient, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type {
  BackupReport,
  DumpReport,
  ExportStateReport,
  ImportStateReport,
  RepairReport,
  SnapshotInfo,
  StateHead,
  StateInfo,
  VerifyReport,
} from '../../ts/core/db.ts'
import { hearth, rpc, startNode, tempHome } from './harness.ts'

/** Blocks of the chain besides the genesis. */
const BLOCKS = 50
const FAST = '--state-commit.flatkv.fsync=none'
const NO_SNAPSHOT = '--state-commit.flatkv.snapshot_on_stop=false'

const dir = tempHome()
const at = (name: string): string => path.join(dir, name)
const home = at('home')
const chain = at('chain.rlp')
const genesis = at('genesis.json')
let head: { number: string; hash: string; stateRoot: string }

/**
 * Runs a command with --json; returns its exit code, report and standard error without progress
 * lines.
 */
function run<T>(args: readonly string[], of = home): { status: number | null; report: T; stderr: string } {
  const r = hearth([...args, '--home', of, '--json'])
  const stderr = r.stderr.replace(/^\d+\.\d %, .*\n/gm, '')
  return { status: r.status, report: (r.stdout === '' ? undefined : JSON.parse(r.stdout)) as T, stderr }
}

/** The report of a command that succeeds. */
function done<T>(args: readonly string[], of = home): T {
  const { status, report, stderr } = run<T>(args, of)
  expect([status, stderr]).toEqual([0, ''])
  return report
}

// A development chain, exported and imported.
beforeAll(async () => {
  const node = await startNode(['dev', '--home', at('dev'), FAST])
  const account = mnemonicToAccount('test test test test test test test test test test test junk')
  const wallet = createWalletClient({ account, chain: hardhat, transport: http(node.url) })
  const fees = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
  for (let nonce = 0; nonce < BLOCKS; nonce++) {
    await wallet.sendTransaction({ to: `0x${(0x1000 + nonce).toString(16).padStart(40, '0')}`, value: 1n, nonce, ...fees })
  }
  head = (await rpc(node.url, 'eth_getBlockByNumber', ['latest', false])).result as typeof head
  expect(await node.stop()).toBe(0)
  expect(hearth(['export', '--home', at('dev'), chain]).status).toBe(0)
  fs.copyFileSync(path.join(at('dev'), 'config', 'genesis.json'), genesis)
  // Snapshots are what the tests below take themselves.
  expect(hearth(['import', '--home', home, '--genesis', genesis, chain, FAST, NO_SNAPSHOT]).status).toBe(0)
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

const headOf = ({ height, hash, commitment }: StateHead): unknown[] => [height, hash, commitment]
const theHead = (): unknown[] => [BLOCKS, head.hash, head.stateRoot]

describe('without a node', () => {
  it('info and verify say what there is, and that it is sound', () => {
    const info = done<StateInfo>(['db', 'info'])
    expect(headOf(info.head as StateHead)).toEqual(theHead())
    expect([info.oldestState, info.base, info.snapshot, info.snapshots]).toEqual([0, 0, null, []])
    expect(info.bytes.state).toBeGreaterThan(0)
    const report = done<VerifyReport>(['db', 'verify'])
    expect([report.found, report.findings, report.commitment]).toEqual([0, [], 'mpt'])
    expect(headOf(report.head)).toEqual(theHead())
    expect([report.rows.blocks, report.rows.transactions, report.rows.changes]).toEqual([BLOCKS + 1, BLOCKS, BLOCKS + 1])
    expect(report.rows.indexedBlocks).toBe(BLOCKS + 1)
    expect(hearth(['db', 'verify', '--home', home]).stdout).toMatch(
      new RegExp(`^height ${BLOCKS}: sound\\nstate root 0x[0-9a-f]{64}, computed from every row\\n`),
    )
    expect(done<{ from: number; to: number }>(['db', 'migrate'])).toMatchObject({ from: 3, to: 3 })
  })

  it('dump writes one line for each row', () => {
    const file = at('accounts.txt')
    const { rows } = done<DumpReport>(['db', 'dump', '--db', 'account', file])
    const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(lines.length).toBe(rows)
    expect(lines.find((line) => line.startsWith('0000000000000000000000000000000000001005 '))?.split(' ')[1]).toBe('6')
    expect(run(['db', 'dump', '--db', 'accounts', file])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('those of the state are account, code, storage, legacy, metadata'),
    })
  })

  it('rollback, and importing again gives the same root', () => {
    const copy = at('rolled')
    fs.cpSync(home, copy, { recursive: true })
    expect(run(['db', 'rollback', '--to', String(BLOCKS + 1)], copy)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`cannot be taken back to height ${BLOCKS + 1}: it has heights 0 to ${BLOCKS}`),
    })
    expect(done<{ head: StateHead }>(['db', 'rollback', '--to', '20'], copy).head.height).toBe(20)
    expect(done<VerifyReport>(['db', 'verify'], copy)).toMatchObject({ found: 0, head: { height: 20 } })
    expect(hearth(['import', '--home', copy, chain, FAST, NO_SNAPSHOT]).stdout).toContain(head.hash)
    // Now with a snapshot of 30 to go through.
    expect(done<{ head: StateHead }>(['db', 'rollback', '--to', '30'], copy).head.height).toBe(30)
    expect(done<SnapshotInfo>(['db', 'snapshot'], copy).height).toBe(30)
    expect(hearth(['import', '--home', copy, chain, FAST, NO_SNAPSHOT]).status).toBe(0)
    expect(done<{ head: StateHead }>(['db', 'rollback', '--to', '35', '--from-snapshot'], copy).head.height).toBe(35)
    expect(done<StateInfo>(['db', 'info'], copy).snapshots.map(({ height }) => height)).toEqual([30, 35])
    expect(hearth(['import', '--home', copy, chain, FAST, NO_SNAPSHOT]).stdout).toContain(head.hash)
    const report = done<VerifyReport>(['db', 'verify'], copy)
    expect([report.found, headOf(report.head)]).toEqual([0, theHead()])
  })

  it('a damaged database is set aside and rebuilt', () => {
    const copy = at('damaged')
    fs.cpSync(home, copy, { recursive: true })
    const current = path.join(copy, 'data', 'state', 'db', 'CURRENT')
    expect(done<RepairReport>(['db', 'repair'], copy).actions).toEqual([])
    expect(done<SnapshotInfo>(['db', 'snapshot'], copy).height).toBe(BLOCKS)
    fs.writeFileSync(current, 'damaged\n')
    expect(run(['db', 'verify'], copy).status).toBe(1)
    const first = done<RepairReport>(['db', 'repair'], copy)
    expect(first.actions).toMatchObject([{ action: 'from_snapshot', height: BLOCKS, aside: path.join(copy, 'data', 'state.bad-1') }])
    expect(done<VerifyReport>(['db', 'verify'], copy).found).toBe(0)
    // Neither snapshot nor log: the ledger is executed again.
    fs.writeFileSync(current, 'damaged\n')
    fs.rmSync(path.join(copy, 'data', 'state', 'snapshots'), { recursive: true })
    const wal = path.join(copy, 'data', 'wal')
    const segments = fs.readdirSync(wal).sort()
    const log = fs.readFileSync(path.join(wal, segments[0] as string))
    log[100] = (log[100] as number) ^ 1
    fs.writeFileSync(path.join(wal, segments[0] as string), log)
    const second = done<RepairReport>(['db', 'repair'], copy)
    expect(second.actions.map(({ action }) => action)).toContain('from_ledger')
    expect(headOf(second.head as StateHead)).toEqual(theHead())
    expect(done<VerifyReport>(['db', 'verify'], copy).found).toBe(0)
    expect(fs.existsSync(path.join(copy, 'data', 'state.bad-2'))).toBe(true)
  })

  it('a height goes into a new home, from which the chain goes on', async () => {
    const file = at('height-30')
    const exported = done<ExportStateReport>(['db', 'export', '--height', '30', file])
    expect([exported.head.height, exported.snapshot, exported.bytes]).toEqual([30, null, fs.statSync(file).size])
    const fresh = at('fresh')
    const imported = done<ImportStateReport>(['db', 'import', file], fresh)
    expect([imported.head, imported.rows]).toEqual([exported.head, exported.rows])
    expect(done<VerifyReport>(['db', 'verify'], fresh)).toMatchObject({ found: 0, head: { height: 30 }, oldestState: 30 })
    expect(run(['db', 'import', file], fresh)).toMatchObject({ status: 1, stderr: expect.stringContaining('has a chain already') })
    const rest = at('rest.rlp')
    expect(hearth(['export', '--home', home, '--from', '31', rest]).status).toBe(0)
    expect(hearth(['import', '--home', fresh, rest, FAST, NO_SNAPSHOT]).stdout).toContain(head.hash)
    const report = done<VerifyReport>(['db', 'verify'], fresh)
    expect([report.found, headOf(report.head)]).toEqual([0, theHead()])
    const node = await startNode(['start', '--home', fresh, FAST])
    const balance = await rpc(node.url, 'eth_getBalance', [`0x${'1020'.padStart(40, '0')}`, 'latest'])
    expect(balance.result).toBe('0x1')
    expect(await node.stop()).toBe(0)
    const bytes = fs.readFileSync(file)
    const middle = bytes.length >> 1
    bytes[middle] = (bytes[middle] as number) ^ 1
    fs.writeFileSync(at('spoilt'), bytes)
    expect(run(['db', 'import', at('spoilt')], at('never'))).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^error: the stream at byte \d+: /),
    })
    expect(fs.existsSync(path.join(at('never'), 'config', 'chain.json'))).toBe(false)
  })
})

describe('beside a node', () => {
  it('reads use the newest snapshot, changes are refused', async () => {
    const copy = at('running')
    fs.cpSync(home, copy, { recursive: true })
    expect(done<{ head: StateHead }>(['db', 'rollback', '--to', '40'], copy).head.height).toBe(40)
    expect(done<SnapshotInfo>(['db', 'snapshot'], copy).height).toBe(40)
    expect(hearth(['import', '--home', copy, chain, FAST, NO_SNAPSHOT]).status).toBe(0)
    const node = await startNode(['start', '--home', copy, FAST, NO_SNAPSHOT])
    try {
      const info = done<StateInfo>(['db', 'info'], copy)
      expect([info.snapshot, info.head?.height]).toEqual([40, 40])
      expect(hearth(['db', 'verify', '--home', copy]).stdout).toContain(
        'a node runs on this data directory: this is its snapshot of height 40',
      )
      expect(done<VerifyReport>(['db', 'verify'], copy)).toMatchObject({ found: 0, snapshot: 40, rows: { blocks: 41 } })
      expect(done<DumpReport>(['db', 'dump', '--db', 'storage', at('slots.txt')], copy)).toMatchObject({ snapshot: 40 })
      const exported = done<ExportStateReport>(['db', 'export', '--height', '35', at('height-35')], copy)
      expect([exported.head.height, exported.snapshot]).toEqual([35, 40])
      for (const args of [['repair'], ['rollback', '--to', '10'], ['migrate']]) {
        const refused = run(['db', ...args], copy)
        expect([args[0], refused.status, refused.report]).toEqual([args[0], 1, undefined])
        expect(refused.stderr).toMatch(new RegExp(`is in use by process ${node.pid} on `))
      }
      // The backup brings the snapshot forward by the log: it has the head.
      const backup = done<BackupReport>(['backup', '--to', at('backups')], copy)
      expect([backup.besideNode, backup.snapshot, headOf(backup.head)]).toEqual([true, 40, theHead()])
      // The node takes a snapshot of its head on request.
      expect(done<SnapshotInfo>(['db', 'snapshot'], copy).height).toBe(BLOCKS)
      expect(done<StateInfo>(['db', 'info'], copy)).toMatchObject({ snapshot: BLOCKS, head: { height: BLOCKS } })
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })

  it('a backup is a home: same root, sealed files are linked', async () => {
    const first = path.join(at('backups'), fs.readdirSync(at('backups'))[0] as string)
    const restored = at('restored')
    fs.cpSync(first, restored, { recursive: true })
    const report = done<VerifyReport>(['db', 'verify'], restored)
    expect([report.found, headOf(report.head)]).toEqual([0, theHead()])
    const node = await startNode(['start', '--home', restored, FAST])
    expect((await rpc(node.url, 'eth_getBlockByNumber', ['latest', false])).result).toMatchObject({ stateRoot: head.stateRoot })
    expect(await node.stop()).toBe(0)
    const second = done<BackupReport>(['backup', '--to', at('backups')], at('running'))
    expect([second.besideNode, second.snapshot, second.head.height]).toEqual([false, BLOCKS, BLOCKS])
    expect(second.linked.files).toBeGreaterThan(0)
    expect(fs.readdirSync(at('backups')).length).toBe(2)
    expect(done<VerifyReport>(['db', 'verify'], second.dir).found).toBe(0)
  })
})
