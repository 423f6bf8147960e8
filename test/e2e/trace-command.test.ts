// hearth trace: of a running home, of a closed home and of any node by URL; files, exit codes, bad
// input.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIXTURES } from '../conformance/fixtures.ts'
import { DEPLOY } from './contract.ts'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { set } from './dev-requests.ts'
import { endOf, hearth, type RunningNode, rpc, spawnHearth, startNode, tempHome } from './harness.ts'

const trace = (...args: string[]) => hearth(['trace', ...args])

describe('hearth trace', () => {
  const home = tempHome()
  let node: RunningNode
  let contract = ''
  const hashes: string[] = []
  beforeAll(async () => {
    node = await startNode(['dev', '--home', home])
    const dev = new Calls(node.url)
    const mined = async (to: string | undefined, more: object): Promise<void> => {
      hashes.push(await dev.send(ALICE, to, { gas: '0xf4240', ...more }))
    }
    await mined(undefined, { data: DEPLOY })
    contract = (await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', hashes[0])).contractAddress
    await mined(contract, { data: set(42) })
    await mined(BOB, { value: '0x5' })
    // The contract refuses zero.
    await mined(contract, { data: set(0) })
  })
  afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

  it('prints a failed transaction, by home and by URL', () => {
    const [ofHome, ofUrl] = [trace('--home', home, hashes[3] as string), trace('--rpc', node.url, hashes[3] as string)]
    expect([ofHome.status, ofHome.stderr]).toEqual([0, ''])
    expect(ofUrl.stdout).toBe(ofHome.stdout)
    const lines = ofHome.stdout.split('\n')
    expect(lines[0]).toMatch(new RegExp(`^${hashes[3]} {2}block 4 #0 {3}FAILED {3}gas [\\d,]+ of 1,000,000$`))
    expect(lines[1]).toMatch(/^arose {5}\[0\] 0x/)
    expect(lines[3]).toMatch(/^\[[\d,]+\] CALL 0x.* ✗ /)
  })

  it('takes names from files', () => {
    const [labels, signatures] = [path.join(home, 'labels.json'), path.join(home, 'signatures')]
    fs.writeFileSync(labels, JSON.stringify({ [contract]: 'Store' }))
    fs.writeFileSync(signatures, '# of the test\nfunction set(uint256 value);\n')
    const { stdout } = trace('--home', home, '--labels', labels, '--signatures', signatures, hashes[1] as string)
    expect(stdout).toMatch(/ CALL Store\(0x....\.\.....\)::set\(value: 42\)/)
    expect(stdout).not.toContain('FAILED')
  })

  it('says what differs in another transaction or after changes', () => {
    const print = (...args: string[]): string => trace('--home', home, ...args).stdout
    expect(print('--compare', hashes[1] as string, hashes[1] as string)).toBe(
      'the traces are equal: calls, data, results, events and gas\n',
    )
    expect(print('--set', `from=${ALICE}`, hashes[3] as string)).toBe('the traces are equal: calls, data, results, events and gas\n')
    // The contract refuses zero, and takes other numbers.
    const lines = print('--raw', '--set', `data=${set(7)}`, hashes[3] as string).split('\n')
    expect(lines[0]).toMatch(/^0 calls only in 0x\S+ \(-\), 0 only in the changed one \(\+\), 1 in both differ \(≠\); gas [\d,]+ → [\d,]+$/)
    expect(lines[1]).toMatch(/^≠ \[0\] CALL .*arguments, .*outcome.*✗ .* → no data, gas [\d,]+ → [\d,]+$/)
    const json = JSON.parse(print('--json', '--raw', '--compare', hashes[2] as string, hashes[1] as string)) as {
      isEqual: boolean
      calls: unknown[]
    }
    expect(json).toMatchObject({ isEqual: false, calls: [{ a: '0', b: '0' }] })
    const stopped = print('--set', `state={"${contract}": {"code": "0x00"}}`, hashes[3] as string)
    expect(stopped).toContain('→ no data')
    for (const [args, says] of [
      [['--set', 'data=abc'], 'data takes bytes in hex'],
      [['--set', 'colour=red'], '--set takes from=, to=, data=, value=, gas=, state=, block= with a value'],
      [['--compare', '12'], '--compare takes the hash of a transaction'],
      [['--compare', hashes[1] as string, '--gas'], 'leave the other view out'],
    ] as const) {
      const { status, stderr } = trace('--home', home, ...args, hashes[3] as string)
      expect([status, stderr]).toEqual([2, expect.stringContaining(says)])
    }
  })

  it('prints whole blocks, JSON and gas, and writes files', () => {
    const [svg, profile, stacks] = ['a.svg', 'a.json', 'a.txt'].map((name) => path.join(home, name)) as [string, string, string]
    const [one] = JSON.parse(trace('--home', home, '--json', '2').stdout)
    expect(one).toMatchObject({ hash: hashes[1], block: 2, index: 0, gasLimit: 1_000_000, call: { id: '0', kind: 'CALL', value: '0x0' } })
    expect(trace('--home', home, '--gas', '2').stdout).toMatch(/100\.0 % +1 calls/)
    const written = trace('--home', home, '--flame', svg, '--speedscope', profile, '--folded', stacks, 'latest')
    expect([written.status, written.stdout]).toEqual([0, ''])
    expect(fs.readFileSync(svg, 'utf8')).toMatch(/^<svg .*<\/svg>\n$/s)
    expect(JSON.parse(fs.readFileSync(profile, 'utf8')).profiles[0].weights).toHaveLength(1)
    expect(fs.readFileSync(stacks, 'utf8')).toMatch(/^0x\S+ \d+\n$/)
  })

  it('prints steps, pages or ranges of them', () => {
    const hash = hashes[1] as string
    const lines = trace('--home', home, '--steps', '0..3', hash).stdout.split('\n')
    expect(lines[0]).toMatch(/^ +step {2}frame +pc {2}opcode +gas +cost {2}stack, its top first$/)
    expect(lines[1]).toMatch(/^ +0 {2}\[0\] +0 {2}\S+ +[\d,]+ +\d+/)
    expect(lines).toHaveLength(5)
    const all = JSON.parse(trace('--home', home, '--json', '--steps', '..', hash).stdout) as { index: number; op: string }[]
    expect(all.map(({ index }) => index)).toEqual(all.map((_, i) => i))
    expect(['STOP', 'RETURN']).toContain(all.at(-1)?.op)
    const last = trace('--rpc', node.url, '--steps', String(all.length - 1), hash).stdout.split('\n')
    expect(last[1]).toMatch(new RegExp(`^ +${all.length - 1} {2}\\[0\\] .* ${all.at(-1)?.op} `))
  })

  it('prints gas by opcode, and what changed', () => {
    const [one, block] = [trace('--home', home, '--gas=opcode', hashes[1] as string), trace('--home', home, '--gas=opcode', '2')]
    expect(one.stdout).toMatch(/^ +22,100 +\d+\.\d % +1 step {3}SSTORE\n/)
    expect(block.stdout).toBe(one.stdout)
    const diff = trace('--home', home, '--state-diff', hashes[1] as string)
    expect(diff.stdout.split('\n')[0]).toBe(`${hashes[1]}  block 2 #0`)
    expect(diff.stdout).toContain(`${contract.toLowerCase()}\n  storage  0x0: 0x0 → 0x2a\n`)
    expect(diff.stdout).toMatch(new RegExp(`${ALICE}\n {2}balance {2}\\S+ ether → \\S+ ether {2}\\(-\\S+ ether\\)\n {2}nonce {4}1 → 2\n`))
    expect(trace('--home', home, '--state-diff', '2').stdout).toBe(diff.stdout)
    const [raw] = JSON.parse(trace('--home', home, '--json', '--state-diff', '2').stdout)
    expect(Object.keys(raw)).toEqual(['hash', 'block', 'index', 'post', 'pre'])
  })

  it('traces calls that are not mined', () => {
    const { stdout, status } = trace('--home', home, '--call', '--from', ALICE, '--to', contract, '--data', set(7))
    expect([status, stdout.split('\n')[0]]).toEqual([0, expect.stringMatching(/^call {2}after block 4 {3}gas [\d,]+ of [\d,]+$/)])
    const signed = trace('--home', home, '--call', '--to', contract, '--sig', 'set(uint256 value)', '--block', '2:0', '7')
    expect(signed.stdout.split('\n')[0]).toMatch(/^call {2}block 2 #0 {3}gas /)
    expect(signed.stdout).toContain('::set(value: 7)')
    const failing = trace('--home', home, '--call', '--check', '--to', contract, '--sig', 'set(uint256)', '0')
    expect([failing.status, failing.stdout.split('\n')[1]]).toEqual([3, expect.stringMatching(/^arose {5}\[0\] /)])
    // Code that returns the time of the block: TIMESTAMP, MSTORE, RETURN.
    const code = path.join(home, 'code')
    fs.writeFileSync(code, '0x4260005260206000f3\n')
    const time = trace('--home', home, '--call', '--to', BOB, '--override', `${BOB}.code=@${code}`, '--block-override', 'time=1900000000')
    expect(time.stdout).toContain(`← 0x${(1_900_000_000).toString(16).padStart(64, '0')}`)
    // SLOAD of slot 5.
    const slot = ['--override', `${BOB}.code=0x60055460005260206000f3`, '--override', `${BOB}.slot[5]=0x1234`]
    const loaded = trace('--home', home, '--call', '--to', BOB, ...slot)
    expect(loaded.stdout).toContain(`← 0x${'1234'.padStart(64, '0')}`)
    const steps = JSON.parse(trace('--home', home, '--call', '--to', BOB, ...slot, '--json', '--steps', '..').stdout) as { op: string }[]
    expect(steps.map(({ op }) => op)).toEqual(['PUSH1', 'SLOAD', 'PUSH1', 'MSTORE', 'PUSH1', 'PUSH1', 'RETURN'])
    const diff = trace('--home', home, '--call', '--from', ALICE, '--to', BOB, '--value', '2 ether', '--state-diff').stdout
    expect(diff).toContain('(+2 ether)')
    for (const [args, says] of [
      [['--to', '0x12'], '--to takes an address'],
      [['--data', '0x1'], '--data takes bytes in hex'],
      [['--sig', 'set(uint256)'], '--sig: set takes 1 arguments, and 0 are given'],
      [['--sig', 'set(uint256)', 'many'], '--sig: argument 1 of set takes an amount'],
      [['--sig', 'set(uint8)', '256'], '--sig: an argument of set has no room in its type'],
      [['--sig', 'what is this'], 'is no signature'],
      [['--sig', 'set(uint256)', '--data', '0x', '1'], '--sig and --data both give the data'],
      [['--value', 'much'], '--value: value takes an amount'],
      [['--block', '1:x'], '--block takes a block'],
      [['--override', 'x.balance=1'], '--override: an override is ADDRESS.balance=AMOUNT'],
      [['--override', `${BOB}.code=@${home}/nosuch`], '--override: ENOENT'],
      [['--block-override', 'colour=red'], '--block-override: a block override is number='],
      [['--set', 'data=0x'], '--set is of a mined transaction: leave --call out'],
      [['stray'], 'arguments need --sig'],
    ] as const) {
      const { status, stderr } = trace('--home', home, '--call', ...args)
      expect([args, status, stderr]).toEqual([args, 2, expect.stringContaining(says)])
    }
    expect(trace('--home', home, '--to', BOB, '1').stderr).toBe('error: --to is of a call: give --call beside it\n')
  })

  it('runs a mined transaction again, and compares two', () => {
    const equal = 'the traces are equal: calls, data, results, events and gas\n'
    expect(trace('--home', home, '--replay', hashes[3] as string).stdout).toBe(equal)
    expect(hearth(['compare', '--home', home, hashes[1] as string, hashes[1] as string]).stdout).toBe(equal)
    const stopped = trace('--home', home, '--replay', '--override', `${contract}.code=0x00`, hashes[3] as string)
    expect([stopped.status, stopped.stdout]).toEqual([0, expect.stringContaining('→ no data')])
    expect(hearth(['compare', '--home', home, hashes[1] as string, hashes[3] as string]).stdout).toMatch(/^0 calls only in 0x/)
    expect(hearth(['compare', '--home', home, hashes[1] as string])).toMatchObject({ status: 2, stderr: 'error: TX is missing\n' })
  })

  it('simulates blocks of calls', async () => {
    const file = path.join(home, 'simulated.json')
    const calls = [
      { from: ALICE, to: contract, input: set(9) },
      { from: ALICE, to: contract, input: set(0) },
    ]
    const blocks = [
      { calls },
      { blockOverrides: { number: '0x10' }, stateOverrides: { [BOB]: { code: '0x4360005260206000f3' } }, calls: [{ to: BOB }] },
    ]
    fs.writeFileSync(file, JSON.stringify({ blockStateCalls: blocks }))
    const run = (...args: string[]) => hearth(['simulate', '--home', home, ...args])
    const { status, stdout } = run(file)
    expect(status).toBe(0)
    const heads = stdout.split('\n').filter((line) => line.startsWith('call '))
    expect(heads.map((line) => line.replace(/ {3}gas .*/, ''))).toEqual([
      'call 0  block 5 #0',
      'call 1  block 5 #1   FAILED',
      'call 0  block 16 #0',
    ])
    // NUMBER of the second block.
    expect(stdout).toContain(`← 0x${'10'.padStart(64, '0')}`)
    const simulated = (await rpc(node.url, 'eth_simulateV1', [{ blockStateCalls: blocks }, 'latest'])).result as {
      calls: { gasUsed: string }[]
    }[]
    const used = (JSON.parse(run('--json', file).stdout) as { gasUsed: number; call: { gasUsed: number } }[][]).flat()
    expect(used.map(({ call }) => call.gasUsed)).toEqual(simulated.flatMap(({ calls: all }) => all).map(({ gasUsed }) => Number(gasUsed)))
    expect(run('--check', file).status).toBe(3)
    fs.writeFileSync(file, '{')
    expect(run(file)).toMatchObject({ status: 2, stderr: expect.stringMatching(/is no JSON .* it holds \{"blockStateCalls"/) })
    fs.writeFileSync(file, '{"calls": []}')
    expect(run(file)).toMatchObject({ status: 2, stderr: expect.stringContaining('has no blockStateCalls') })
    expect(run(path.join(home, 'nosuch'))).toMatchObject({ status: 2, stderr: expect.stringContaining('ENOENT') })
  })

  it('writes a flame as one HTML file', () => {
    const file = path.join(home, 'flame.html')
    expect(trace('--home', home, '--flame', file, '2').status).toBe(0)
    const html = fs.readFileSync(file, 'utf8')
    const data = JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)?.[1] ?? '') as {
      names: string[]
      width: number[]
      total: number
    }
    expect([data.names.length, data.width]).toEqual([1, [data.total]])
    const script = /<script>(.*?)<\/script>/s.exec(html)?.[1] ?? ''
    const digest = createHash('sha256').update(script).digest('base64')
    expect(html).toContain(`content="default-src 'none'; script-src 'sha256-${digest}';`)
  })

  it('colours trees on request, and cuts lines on request', () => {
    const plain = trace('--home', home, hashes[3] as string).stdout
    const coloured = trace('--home', home, '--color=always', hashes[3] as string).stdout
    expect(plain).not.toContain('\u001b')
    expect(coloured).toContain('\u001b[31mFAILED'.replace('FAILED', '   FAILED'))
    expect(coloured.replaceAll(/\u001b\[\d+m/g, '')).toBe(plain)
    expect(trace('--home', home, '--color=never', hashes[3] as string).stdout).toBe(plain)
    expect(trace('--home', home, '--color=green', hashes[3] as string)).toMatchObject({
      status: 2,
      stderr: 'error: --color takes auto, always, never, not "green"\n',
    })
    const cut = trace('--home', home, '--width', '40', hashes[3] as string).stdout.split('\n')
    expect(cut.slice(1).every((line) => line.length <= 40)).toBe(true)
  })

  it('ends with 1 without an answer, with 130 if it is stopped', async () => {
    const away = trace('--rpc', 'http://127.0.0.1:9', '1')
    expect([away.status, away.stdout, away.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(/^error: the node at http:\/\/127\.0\.0\.1:9\/?: /),
    ])
    expect(trace('--rpc', 'nowhere', '1')).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('--rpc takes a URL') })
    let requested = (): void => undefined
    const silent = net.createServer((socket) => socket.once('data', () => requested()))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const reached = new Promise<void>((resolve) => {
      requested = resolve
    })
    const child = spawnHearth(['trace', '--rpc', `http://127.0.0.1:${(silent.address() as net.AddressInfo).port}`, '1'])
    await reached
    child.kill('SIGINT')
    expect(await endOf(child)).toBe(130)
    silent.close()
  })

  it('ends with 0 where its reader has seen enough', async () => {
    const child = spawnHearth(['trace', '--home', home, '--json', '--steps', '..', hashes[1] as string])
    let errors = ''
    child.stderr?.on('data', (data: Buffer) => {
      errors += data.toString()
    })
    child.stdout?.once('data', () => child.stdout?.destroy())
    expect([await endOf(child), errors]).toEqual([0, ''])
  })

  it('ends with 3 where it checks and a transaction failed', () => {
    expect(trace('--home', home, '--check', hashes[3] as string).status).toBe(3)
    expect(trace('--home', home, '--check', hashes[1] as string).status).toBe(0)
  })

  it('says what is wrong', () => {
    const unknown = `0x${'12'.repeat(32)}`
    expect(trace('--home', home, unknown)).toMatchObject({ status: 1, stderr: `error: transaction ${unknown} is not known to this node\n` })
    expect(trace('--home', home, '99')).toMatchObject({ status: 1, stderr: 'error: block 99 is not known to this node\n' })
    expect(trace('--home', home, 'nonsense')).toMatchObject({
      status: 2,
      stderr: 'error: "nonsense" is no hash of a transaction or block, no height and no tag such as latest\n',
    })
    expect(trace('--home', home, '--depth=0', '1')).toMatchObject({
      status: 2,
      stderr: 'error: --depth takes a whole number from 1 on, not "0"\n',
    })
    expect(trace('--home', home, '--labels', path.join(home, 'nosuch'), '1').stderr).toMatch(/^error: --labels: ENOENT/)
    expect(trace('--home', home, '--steps', '5..5', '1').stderr).toBe(
      'error: --steps takes a range of steps such as 100..200, not "5..5"\n',
    )
    expect(trace('--home', home, '--gas=word', '1').stderr).toBe('error: --gas stands alone or is --gas=opcode or --gas=line\n')
    expect(trace('--home', home, '--gas=line', '1').stderr).toMatch(
      /^error: --gas=line needs the artifacts of the contracts: give --artifacts DIR/,
    )
    expect(trace('--home', home, '--artifacts', `${home}/nowhere`, '1').stderr).toMatch(
      /^error: --artifacts takes a folder such as out or artifacts/,
    )
    expect(trace('--home', home, '--gas', '--state-diff', '1').stderr).toBe(
      'error: --gas and --state-diff are printed one at a time: give one of them\n',
    )
    const none = trace('--home', path.join(home, 'empty'), 'latest')
    expect([none.status, none.stderr]).toEqual([1, expect.stringMatching(/^error: .* holds no chain yet: /)])
  })

  it('reads a home that no node serves', async () => {
    const before = trace('--home', home, hashes[3] as string).stdout
    expect(await node.stop()).toBe(0)
    const after = trace('--home', home, hashes[3] as string)
    expect([after.status, after.stderr]).toEqual([0, ''])
    expect(after.stdout).toBe(before)
  })
})

describe('a failure through two proxies on mainnet', () => {
  const file = path.join(FIXTURES, 'mainnet-blocks', '12459406.json.gz')
  const isThere = fs.existsSync(file)
  it.skipIf(!isThere)(`${isThere ? '' : 'skipped: the recorded block is not there: '}is explained frame by frame`, () => {
    const home = tempHome()
    expect(hearth(['import', '--home', home, '--case', file]).status).toBe(0)
    const { stdout } = trace('--home', home, '0x0695725bf0f5894c14db3c2c47ca4b2da5bcfade4c21f37c56f4aafa1b3baef1')
    const chain = stdout.split('\n').slice(1, 5)
    expect(chain.map((line) => line.split(/\s*\[|\]/).slice(0, 2))).toEqual([
      ['arose', '0.0.0.0'],
      ['passed on', '0.0.0'],
      ['replaced', '0.0'],
      ['dropped', '0'],
    ])
    expect(chain[0]).toMatch(
      /::transferFrom\(from: 0x5617\.\.5bf9, to: 0xfa10\.\.cdef, amount: 551890000000000000000\) {2}SafeMath: subtraction overflow$/,
    )
    expect(chain[2]).toMatch(/ {2}error\/transfer-failed$/)
    fs.rmSync(home, { recursive: true, force: true })
  })
})
