// Trace capsules follow the chain: into backups, through export and import, and back with a
// rollback.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BackupReport, RepairReport, VerifyReport } from '../../ts/core/db.ts'
import { Sender, startDev, TRACERS, trace } from './bake-node.ts'
import { hearth, rpc, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const FAST = '--state-commit.flatkv.fsync=none'
const CAPSULES = '--evm.trace_source=capsule'
const BLOCKS = 8

const dir = tempHome()
const at = (name: string): string => path.join(dir, name)
const home = at('home')

/** Answers by block and tracer, as the home itself gives them. */
const expected = new Map<string, string>()
const numbers = Array.from({ length: BLOCKS }, (_, i) => `0x${(i + 1).toString(16)}`)
let backup: string

/** Runs a command that must succeed, or end with another status; what it printed. */
function done(args: readonly string[], expected = 0): string {
  const { status, stdout, stderr } = hearth(args)
  expect([args, status, status === expected ? '' : stderr]).toEqual([args, expected, ''])
  return stdout
}

/** What a zstd frame begins with (RFC 8878). */
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** Changes a byte of every second compressed value of a table; how many. */
function damage(table: string): number {
  let damaged = 0
  for (const name of fs.readdirSync(table).filter((file) => file.endsWith('.seg'))) {
    const file = path.join(table, name)
    const bytes = fs.readFileSync(file)
    let found = 0
    for (let at = bytes.indexOf(ZSTD); at >= 0; at = bytes.indexOf(ZSTD, at + 1)) {
      if (found++ % 2 === 1) continue
      bytes.writeUInt8(bytes.readUInt8(at + 12) ^ 0xff, at + 12)
      damaged++
    }
    fs.writeFileSync(file, bytes)
  }
  return damaged
}

beforeAll(async () => {
  const node = await startDev(home, FAST, CAPSULES, '--state-commit.flatkv.snapshot_interval_blocks=4')
  const sender = new Sender(node)
  await sender.scene()
  await sender.transfers(BLOCKS - 4)
  for (const block of numbers) {
    for (const tracer of TRACERS) {
      const answer = await trace(node.url, 'debug_traceBlockByNumber', [block, { tracer }])
      expect([answer.from, answer.error]).toEqual(['capsule', undefined])
      expected.set(`${block} ${tracer}`, answer.text)
    }
  }
  await until('a snapshot, from which a backup beside a node takes the state', async () =>
    fs.existsSync(path.join(home, 'data/state/snapshots')),
  )
  backup = (JSON.parse(done(['backup', '--home', home, '--to', at('backups'), '--json'])) as BackupReport).dir
  expect(await node.stop()).toBe(0)
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

/** Every block of a home is traced from its capsule, as the first home traces it. */
async function same(of: string, blocks = numbers): Promise<void> {
  const report = JSON.parse(done(['db', 'verify', '--home', of, '--json'])) as VerifyReport
  expect([report.found, report.findings]).toEqual([0, []])
  const node = await startNode(['start', '--home', of, FAST, CAPSULES])
  try {
    for (const block of blocks) {
      for (const tracer of TRACERS) {
        const answer = await trace(node.url, 'debug_traceBlockByNumber', [block, { tracer }])
        expect([block, tracer, answer.from, answer.text]).toEqual([block, tracer, 'capsule', expected.get(`${block} ${tracer}`)])
      }
    }
  } finally {
    expect(await node.stop()).toBe(0)
  }
}

describe('capsules', () => {
  it('are in a backup that was made beside the node', async () => {
    const restored = at('restored')
    fs.cpSync(backup, restored, { recursive: true })
    await same(restored)
  })

  it('are made again by an import of the exported blocks', async () => {
    const chain = at('chain.rlp')
    done(['export', '--home', home, chain])
    done(['import', '--home', at('imported'), '--genesis', path.join(home, 'config/genesis.json'), chain, FAST])
    await same(at('imported'))
  })

  it('go back with the chain, and come again with it', async () => {
    const copy = at('rolled')
    fs.cpSync(home, copy, { recursive: true })
    done(['db', 'rollback', '--to', '3', '--home', copy])
    await same(copy, numbers.slice(0, 3))
    const rest = at('rest.rlp')
    done(['export', '--home', home, '--from', '4', rest])
    done(['import', '--home', copy, rest, FAST])
    await same(copy)
  })

  it('that are damaged are made again by a repair, and stay', async () => {
    const copy = at('damaged')
    fs.cpSync(home, copy, { recursive: true })
    const damaged = damage(path.join(copy, 'data/ledger/capsules'))
    expect(damaged).toBeGreaterThan(0)
    const before = JSON.parse(done(['db', 'verify', '--home', copy, '--json'], 1)) as VerifyReport
    const capsules = before.findings.filter(({ name }) => name === 'capsule').length
    expect([capsules, before.found]).toEqual([damaged, damaged])
    const repaired = JSON.parse(done(['db', 'repair', '--home', copy, '--json'])) as RepairReport
    expect([repaired.capsules, repaired.actions]).toEqual([{ made: damaged, left: 0 }, []])
    // What was appended to the tables belongs to the head: no opening cuts it off.
    await same(copy)
    await same(copy)
    const again = JSON.parse(done(['db', 'repair', '--home', copy, '--json'])) as RepairReport
    expect(again.capsules).toEqual({ made: 0, left: 0 })
    // The chain continues behind it.
    const node = await startDev(copy, FAST, CAPSULES)
    await new Sender(node).transfers(2)
    expect(await node.stop()).toBe(0)
    await same(copy)
  })

  it('a home from the state of a height has later capsules', async () => {
    const state = at('state')
    done(['db', 'export', '--home', home, '--height', '3', state])
    const fresh = at('fresh')
    done(['db', 'import', '--home', fresh, state])
    const rest = at('behind.rlp')
    done(['export', '--home', home, '--from', '4', rest])
    done(['import', '--home', fresh, rest, FAST])
    await same(fresh, numbers.slice(3))
    const node = await startNode(['start', '--home', fresh, FAST, CAPSULES])
    expect((await rpc(node.url, 'debug_traceBlockByNumber', ['0x2', { tracer: 'callTracer' }])).error).toMatchObject({ code: -32000 })
    expect(await node.stop()).toBe(0)
  })
})
