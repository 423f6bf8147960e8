// hearth trace: of a running home, of a closed home and of any node by URL; files, exit codes, bad
// input.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIXTURES } from '../conformance/fixtures.ts'
import { DEPLOY } from './contract.ts'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { set } from './dev-requests.ts'
import { hearth, type RunningNode, startNode, tempHome } from './harness.ts'

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
