// Damage to records of the ledger: its detection, its repair, and the errors for clients on the
// network.
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RepairReport, VerifyReport } from '../../ts/core/db.ts'
import { fixtures } from '../conformance/fixtures.ts'
import { endOf, hearth, rpc, spawnHearth, startNode, tempHome } from './harness.ts'

const HEIGHT = 54
/** Exit code of a node that starting again does not help. */
const CANNOT_START = 3
const recorded = fixtures('rpc-compat')
const [genesis, chain] = [path.join(recorded ?? '', 'genesis.json'), path.join(recorded ?? '', 'chain.rlp')]
const dir = tempHome()
const at = (name: string): string => path.join(dir, name)
const FAST = '--state-commit.flatkv.fsync=none'
const sound = at('sound')
const damaged = at('damaged')

/** Runs a command on a home: exit code, output, errors without lines of progress. */
function run(home: string, ...args: string[]): [number | null, string, string] {
  const { status, stdout, stderr } = hearth([...args, '--home', home])
  return [status, stdout, stderr.replace(/^\d+\.\d %, .*\n/gm, '')]
}

const copy = (name: string, of = damaged): string => {
  fs.cpSync(of, at(name), { recursive: true })
  return at(name)
}

const verified = (home: string): VerifyReport => JSON.parse(run(home, 'db', 'verify', '--json')[1]) as VerifyReport

/** Flips a bit at an offset of the first segment of a table. */
function flip(home: string, table: string, offset: number): void {
  const file = path.join(home, 'data', 'ledger', table, '00-0000000000.seg')
  const bytes = fs.readFileSync(file)
  bytes[offset] = (bytes[offset] as number) ^ 1
  fs.writeFileSync(file, bytes)
}

/** Damages one record of a table; the height of its block. */
function damage(home: string, table: string, from: number): number {
  for (let offset = from; offset < from + 400; offset += 40) {
    flip(home, table, offset)
    const { found, findings } = verified(home)
    const height = /(?:block|of block) (\d+)/.exec(findings[0]?.text ?? '')?.[1]
    if (found === 1 && height !== undefined) return Number(height)
    flip(home, table, offset)
  }
  throw new Error(`no byte of a frame from ${from} on in ${table}`)
}

let height = 0
let hash = ''

beforeAll(() => {
  if (recorded === undefined) return
  expect(run(sound, 'import', '--genesis', genesis, chain, FAST)[0]).toBe(0)
  copy('damaged', sound)
  height = damage(damaged, 'blocks', 1348)
  hash = /record of block (0x\w{64})/.exec(run(damaged, 'db', 'verify')[1])?.[1] as string
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

/** The home is as the sound one: verified, and with the same blocks. */
function expectRepaired(home: string): void {
  expect(verified(home)).toMatchObject({ found: 0, head: { height: HEIGHT } })
  expect(run(home, 'db', 'scrub')[0]).toBe(0)
  const files = [at('is.rlp'), at('was.rlp')] as const
  expect(run(home, 'export', '--force', files[0])[0]).toBe(0)
  expect(run(sound, 'export', '--force', files[1])[0]).toBe(0)
  expect(fs.readFileSync(files[0]).equals(fs.readFileSync(files[1]))).toBe(true)
}

describe.skipIf(recorded === undefined)('a damaged block', () => {
  it('is found by verify, which names the command', () => {
    expect(height).toBeGreaterThan(0)
    const [status, stdout] = run(damaged, 'db', 'verify')
    expect(status).toBe(1)
    expect(stdout).toMatch(new RegExp(`^unreadable_block: block ${height}: the record of block 0x\\w{64}: .*is damaged at byte \\d+`, 'm'))
    expect(stdout).toContain('\nto repair it, stop the node and run: hearth db repair --from FILE|URL\n')
    const report = run(sound, 'db', 'scrub', '--table', 'blocks')
    expect([report[0], run(damaged, 'db', 'scrub', '--table', 'blocks')[0]]).toEqual([0, 1])
  })

  it('stays damaged without a file, and repair says so', () => {
    const home = copy('without')
    const [status, stdout] = run(home, 'db', 'repair')
    expect(status).toBe(1)
    expect(stdout).not.toContain('nothing to repair')
    expect(stdout).toContain(`block ${height} (${hash}): still damaged: no file was given that has it\n`)
    expect(stdout).toContain(`run \`hearth db repair --home ${home} --from FILE\``)
    const head = at('head.rlp')
    expect(run(sound, 'export', '--from', String(HEIGHT), head)[0]).toBe(0)
    const [other, text] = run(home, 'db', 'repair', '--from', head)
    expect([other, text]).toEqual([1, expect.stringContaining('still damaged: it is not in what was given\n')])
  })

  it('is taken from a file, plain or gzip', () => {
    const gzip = at('chain.rlp.gz')
    fs.writeFileSync(gzip, zlib.gzipSync(fs.readFileSync(chain)))
    for (const file of [chain, gzip]) {
      const home = copy(`from ${path.basename(file)}`)
      const [status, stdout, stderr] = run(home, 'db', 'repair', '--from', file)
      expect([status, stdout, stderr]).toEqual([0, expect.stringContaining(`block ${height} (${hash}): written again\n`), ''])
      expectRepaired(home)
      expect(run(home, 'db', 'repair')).toEqual([0, expect.stringContaining('nothing to repair\n'), ''])
    }
  })

  it('is taken from another node, by its hash', async () => {
    const home = copy('from a node')
    const node = await startNode(['start', '--home', sound, FAST])
    try {
      const [status, stdout, stderr] = run(home, 'db', 'repair', '--from', node.url)
      expect([status, stdout, stderr]).toEqual([0, expect.stringContaining(`block ${height} (${hash}): written again\n`), ''])
    } finally {
      expect(await node.stop()).toBe(0)
    }
    expectRepaired(home)
    const gone = run(copy('from no node'), 'db', 'repair', '--from', node.url)
    expect(gone).toEqual([
      1,
      '',
      expect.stringMatching(new RegExp(`^error: ${node.url}: debug_getRawBlock of block ${height} \\(${hash}\\): `)),
    ])
  })

  it('is written again by an import of a file that has it', () => {
    const home = copy('import')
    const [status, stdout] = run(home, 'import', chain, FAST)
    expect([status, stdout]).toEqual([
      0,
      expect.stringContaining(', 54 were there already (1 damaged, written again); the head is block 54 '),
    ])
    expectRepaired(home)
  })

  it('is written again by the import of a running node', async () => {
    const home = copy('beside')
    const node = await startNode(['start', '--home', home, FAST])
    const number = `0x${height.toString(16)}`
    expect((await rpc(node.url, 'eth_getBlockByNumber', [number, false])).error?.code).toBe(-32603)
    expect(run(home, 'import', chain)[1]).toContain('(1 damaged, written again)')
    expect((await rpc(node.url, 'eth_getBlockByNumber', [number, false])).result).toMatchObject({ number, hash })
    expect(await node.stop()).toBe(0)
    expectRepaired(home)
  })

  it('is whole or as before after kill -9 of the repair', async () => {
    const home = copy('killed')
    let done = false
    for (let ms = 150; !done && ms < 3000; ms += 60) {
      const child = spawnHearth(['db', 'repair', '--home', home, '--from', chain])
      const end = endOf(child)
      setTimeout(() => child.kill('SIGKILL'), ms)
      done = (await end) === 0
      const { found, findings } = verified(home)
      expect(found === 0 || (found === 1 && !done && findings[0]?.name === 'unreadable_block')).toBe(true)
    }
    expect(run(home, 'db', 'repair', '--from', chain)[0]).toBe(0)
    expectRepaired(home)
  })

  it('in a segment’s head is not repaired, and the error helps', () => {
    const home = copy('no head', sound)
    // The head stands twice.
    for (const offset of [0, 40]) flip(home, 'blocks', offset)
    const reason = 'segment header, without which the table does not open, and no command repairs that: restore a backup'
    for (const command of [
      ['db', 'verify'],
      ['db', 'repair', '--from', chain],
    ]) {
      const [status, stdout, stderr] = run(home, ...command)
      expect([status, stdout, stderr]).toEqual([1, '', expect.stringContaining(reason)])
    }
    const [status, , stderr] = run(home, 'start', '--evm.http_port=0', '--evm.ws_port=0', '--metrics.port=0')
    expect([status, stderr]).toEqual([CANNOT_START, expect.stringContaining(reason)])
    expect(stderr).not.toContain('db repair')
    // One copy of the head is enough.
    flip(home, 'blocks', 40)
    expect(verified(home)).toMatchObject({ found: 0, head: { height: HEIGHT } })
  })

  it('is reported to clients without a path, to the log with one', async () => {
    const home = copy('served')
    const node = await startNode(['start', '--home', home, FAST])
    const number = `0x${height.toString(16)}`
    const requests: [string, unknown[]][] = [
      ['eth_getBlockByNumber', [number, true]],
      ['eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }]],
      ['debug_getRawBlock', [number]],
      ['debug_traceBlockByNumber', [number, { tracer: 'callTracer' }]],
      ['debug_traceBlockByNumber', [number, {}]],
      ['eth_getBlockReceipts', [number]],
    ]
    for (const [method, params] of requests) {
      const { error, result } = await rpc(node.url, method, params)
      if (method === 'eth_getLogs' && error === undefined) continue
      expect([method, result, error]).toEqual([method, undefined, { code: -32603, message: `the record of block ${hash} is damaged` }])
    }
    expect(await node.stop()).toBe(0)
    const lines = node
      .log()
      .split('\n')
      .filter((line) => line.includes('is damaged at byte'))
    expect(lines.length).toBeGreaterThanOrEqual(requests.length - 1)
    expect(JSON.parse(lines[0] as string)).toMatchObject({ method: 'eth_getBlockByNumber', id: '1', msg: expect.stringContaining(home) })
  })
})

describe.skipIf(recorded === undefined)('damaged receipts', () => {
  it('are made again by executing the block', () => {
    const home = copy('receipts', sound)
    // From Byzantium on: receipts of earlier blocks contain roots of the state between two
    // transactions.
    const of = damage(home, 'receipts', 20_000)
    expect(of).toBeGreaterThan(8)
    const [status, stdout] = run(home, 'db', 'verify')
    expect([status, stdout]).toEqual([1, expect.stringContaining('to repair it, stop the node and run: hearth db repair\n')])
    const json = run(home, 'db', 'repair', '--json')
    expect(json[0]).toBe(0)
    expect((JSON.parse(json[1]) as RepairReport).ledger).toMatchObject({ restored: [{ number: of, what: 'receipts' }], broken: [] })
    expectRepaired(home)
  })
})

describe.skipIf(recorded === undefined)('parts of a home', () => {
  const error = (home: string, ...args: string[]): [number | null, string] => {
    const ports = args[0] === 'start' ? ['--evm.http_port=0', '--evm.ws_port=0', '--metrics.port=0'] : []
    const [status, , stderr] = run(home, ...args, ...ports)
    return [status, stderr.replace(/^\{.*\}\n/gm, '')]
  }

  it('damaged state: start names db repair', () => {
    const home = copy('state', sound)
    fs.writeFileSync(path.join(home, 'data', 'state', 'db', 'CURRENT'), 'damaged\n')
    const [status, text] = error(home, 'start')
    expect([status, text]).toEqual([CANNOT_START, expect.stringContaining(`; run \`hearth db repair --home ${home}\`\n`)])
    expect(run(home, 'db', 'repair')[0]).toBe(0)
    expect(verified(home).found).toBe(0)
  })

  it('genesis.json missing: init writes it again', () => {
    const home = copy('no genesis', sound)
    fs.rmSync(path.join(home, 'config', 'genesis.json'))
    for (const args of [['start'], ['db', 'repair'], ['export', at('x.rlp')]])
      expect(error(home, ...args)).toEqual([
        args[0] === 'start' ? CANNOT_START : 1,
        expect.stringContaining(`genesis.json is missing: run \`hearth init --home ${home} --genesis FILE\``),
      ])
    expect(error(home, 'init', '--genesis', genesis)).toEqual([0, ''])
    expectRepaired(home)
  })

  it('chain.json missing or damaged: init writes it again', () => {
    for (const [name, spoil, words] of [
      ['missing', (file: string) => fs.rmSync(file), 'is missing, and'],
      ['cut', (file: string) => fs.writeFileSync(file, '{\n'), '; move the file away and run'],
    ] as const) {
      const home = copy(`chain ${name}`, sound)
      const file = path.join(home, 'config', 'chain.json')
      spoil(file)
      for (const args of [['start'], ['db', 'info']]) {
        const [status, text] = error(home, ...args)
        expect([status, text]).toEqual([args[0] === 'start' ? CANNOT_START : 1, expect.stringContaining(words)])
        expect(text).toContain(`hearth init --home ${home} --genesis FILE`)
      }
      fs.rmSync(file, { force: true })
      const other = at('other.json')
      fs.writeFileSync(other, fs.readFileSync(genesis, 'utf8').replace(/"gasLimit": *"0x\w+"/, '"gasLimit": "0x1000000"'))
      expect(error(home, 'init', '--genesis', other)).toEqual([1, expect.stringContaining('holds another chain: its genesis hash is')])
      expect(fs.existsSync(file)).toBe(false)
      expect(error(home, 'init', '--genesis', genesis)).toEqual([0, ''])
      expectRepaired(home)
    }
  })

  it('a new home needs a genesis, and is no file', () => {
    expect(error(at('new'), 'import', chain)).toEqual([1, expect.stringContaining('has no chain yet: give its genesis, with')])
    const file = at('file')
    fs.writeFileSync(file, '')
    for (const command of [['start'], ['import', chain], ['db', 'info'], ['init']])
      expect(error(file, ...command)).toEqual([2, expect.stringContaining(`--home ${file} is a file: give a folder\n`)])
  })
})
