// Snapshots of a home: taken on request, at a clean stop and at the end of an import; commands that
// read a home work with any running node.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BackupReport, ExportStateReport, SnapshotInfo, StateInfo, VerifyReport } from '../../ts/core/db.ts'
import { openNode } from '../../ts/script/index.ts'
import { fixtures } from '../conformance/fixtures.ts'
import { hearth, rpc, startNode, tempHome } from './harness.ts'

const HEIGHT = 54
const recorded = fixtures('rpc-compat')
const dir = tempHome()
const at = (name: string): string => path.join(dir, name)
const FAST = '--state-commit.flatkv.fsync=none'
const OFF = '--state-commit.flatkv.snapshot_on_stop=false'

/** The report of a command that succeeds. */
function done<T>(args: readonly string[], home: string): T {
  const r = hearth([...args, '--home', home, '--json'])
  expect([args.join(' '), r.status, r.stderr.replace(/^\d+\.\d %, .*\n/gm, '')]).toEqual([args.join(' '), 0, ''])
  return JSON.parse(r.stdout) as T
}

const heights = (home: string): number[] => {
  const folder = path.join(home, 'data', 'state', 'snapshots')
  return fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => Number(name.split('-')[0])) : []
}

function imported(name: string, ...settings: string[]): string {
  const [genesis, chain] = [path.join(recorded as string, 'genesis.json'), path.join(recorded as string, 'chain.rlp')]
  const r = hearth(['import', '--home', at(name), '--genesis', genesis, chain, FAST, ...settings])
  expect([r.status, r.stderr]).toEqual([0, ''])
  return at(name)
}

afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

describe.skipIf(recorded === undefined)('beside a node that never took a snapshot', () => {
  let home: string
  beforeAll(() => {
    home = imported('none', OFF)
    expect(heights(home)).toEqual([])
  })

  const reads: [string, (home: string) => Promise<unknown>, unknown][] = [
    ['db snapshot', async (of) => done<SnapshotInfo>(['db', 'snapshot'], of).height, HEIGHT],
    [
      'db info',
      async (of) => {
        const info = done<StateInfo>(['db', 'info'], of)
        return [info.snapshot, info.head?.height, info.snapshots.map(({ height }) => height)]
      },
      [HEIGHT, HEIGHT, [HEIGHT]],
    ],
    [
      'db verify',
      async (of) => {
        const { found, snapshot, rows } = done<VerifyReport>(['db', 'verify'], of)
        return [found, snapshot, rows.blocks]
      },
      [0, HEIGHT, HEIGHT + 1],
    ],
    [
      'db export',
      async (of) => {
        const report = done<ExportStateReport>(['db', 'export', '--height', '40', path.join(of, 'state')], of)
        return [report.snapshot, report.head.height]
      },
      [HEIGHT, 40],
    ],
    [
      'backup',
      async (of) => {
        const report = done<BackupReport>(['backup', '--to', path.join(of, 'backups')], of)
        return [report.besideNode, report.snapshot, report.head.height]
      },
      [true, HEIGHT, HEIGHT],
    ],
    [
      'openNode',
      async (of) => {
        await using node = await openNode({ home: of, readOnly: true })
        return [node.snapshot, node.height]
      },
      [BigInt(HEIGHT), BigInt(HEIGHT)],
    ],
  ]

  it.each(reads)(
    '%s works',
    async (name, read, expected) => {
      const copy = at(`beside ${name}`)
      fs.cpSync(home, copy, { recursive: true })
      const node = await startNode(['start', '--home', copy, FAST])
      try {
        expect(heights(copy)).toEqual([])
        expect(await read(copy)).toEqual(expected)
        expect(heights(copy)).toEqual([HEIGHT])
        expect((await rpc(node.url, 'eth_blockNumber')).result).toBe('0x36')
        expect(fs.readdirSync(path.join(copy, 'data', 'requests'))).toEqual(['node'])
      } finally {
        expect(await node.stop()).toBe(0)
      }
    },
    60_000,
  )
})

describe.skipIf(recorded === undefined)('by themselves', () => {
  it('an import takes one at its end, where the head moved', () => {
    const home = imported('import')
    expect(heights(home)).toEqual([HEIGHT])
    const again = hearth(['import', '--home', home, path.join(recorded as string, 'chain.rlp'), FAST])
    expect([again.status, heights(home)]).toEqual([0, [HEIGHT]])
    expect(done<VerifyReport>(['db', 'verify'], home)).toMatchObject({ found: 0, snapshot: null })
  })

  it('start takes one at a clean stop, where the head moved', async () => {
    const home = imported('stop', OFF)
    const off = await startNode(['start', '--home', home, FAST, OFF])
    expect(await off.stop()).toBe(0)
    expect(heights(home)).toEqual([])
    for (let i = 0; i < 2; i++) {
      const node = await startNode(['start', '--home', home, FAST])
      expect(await node.stop()).toBe(0)
      expect(heights(home)).toEqual([HEIGHT])
    }
    const killed = await startNode(['start', '--home', home, FAST])
    expect(await killed.stop('SIGKILL')).toBe('SIGKILL')
    expect(heights(home)).toEqual([HEIGHT])
  })
})
