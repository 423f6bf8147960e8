// Calls that are not mined, comparisons of trees, and code as instructions.
import { describe, expect, it } from 'vitest'
import { disassembled } from '../../ts/explore/disassembly.ts'
import {
  amountOf,
  BadWhatIf,
  blockOf,
  buildTree,
  compareTrees,
  curlOf,
  objectText,
  type RawFrame,
  replayOf,
  steppedOf,
  traceCallOf,
  whatIfOf,
} from '../../ts/explore/index.ts'
import { time } from '../../ts/web/parts/format.ts'

const A = `0x${'aa'.repeat(20)}`
const frame = (more: Partial<RawFrame> = {}): RawFrame => ({
  type: 'CALL',
  from: A,
  to: A,
  value: '0x0',
  gas: '0x100',
  gasUsed: '0x64',
  input: '0x',
  ...more,
})
const calls = (...selectors: string[]): RawFrame[] => selectors.map((one) => frame({ input: `0x${one.repeat(8)}`, gasUsed: '0xa' }))
const compared = (a: RawFrame, b: RawFrame) => compareTrees(buildTree(a), buildTree(b))

describe('a comparison', () => {
  it('of a tree with itself is empty', () => {
    const tree = frame({ calls: [...calls('1', '2'), frame({ calls: calls('3') })] })
    expect(compared(tree, tree)).toMatchObject({ onlyA: 0, onlyB: 0, changed: 0, isEqual: true })
  })

  it('pairs calls by kind, code and function, across insertions', () => {
    const {
      calls: rows,
      onlyA,
      onlyB,
    } = compared(frame({ calls: calls('1', '2', '3', '4') }), frame({ calls: calls('1', '9', '3', '8', '4') }))
    expect([onlyA, onlyB]).toEqual([1, 2])
    expect(rows.slice(1).map(({ a, b }) => `${a?.input.slice(2, 3) ?? ' '}${b?.input.slice(2, 3) ?? ' '}`)).toEqual([
      '11',
      '2 ',
      ' 9',
      '33',
      ' 8',
      '44',
    ])
  })

  it('reports differences of paired calls, except for gas alone', () => {
    const event = { address: A, topics: [], data: '0x' }
    const [a, b] = [
      frame({ calls: calls('1') }),
      frame({
        calls: [frame({ input: `0x${'1'.repeat(8)}ff`, value: '0x1', gasUsed: '0xb', output: '0x01', error: 'out of gas', logs: [event] })],
      }),
    ]
    expect(compared(a, b).calls[1]?.differs).toEqual(['input', 'value', 'output', 'error', 'gas', 'events'])
    expect(compared(frame(), frame({ gasUsed: '0x65' }))).toMatchObject({ changed: 0, isEqual: false })
  })

  it('pairs beginnings and ends alone where a call has very many', () => {
    const many = (middle: string, n: number): RawFrame =>
      frame({ calls: [...calls('1'), ...calls(...Array.from({ length: n }, () => middle)), ...calls('2')] })
    const { onlyA, onlyB, calls: rows } = compared(many('3', 2500), many('4', 2500))
    expect([onlyA, onlyB, rows.length]).toEqual([2500, 2500, 5003])
  })

  it('takes frames as deep as the EVM nests them', () => {
    let deep = frame()
    for (let i = 0; i < 1024; i++) deep = frame({ calls: [deep] })
    expect(compared(deep, frame()).onlyA).toBe(1024)
  })
})

describe('a what-if', () => {
  const mined = {
    hash: `0x${'12'.repeat(32)}`,
    blockNumber: '0x10',
    transactionIndex: '0x2',
    input: '0x1234',
    from: A,
    to: null,
    value: '0x5',
    gas: '0x5208',
    gasPrice: '0x7',
  }

  it('of a mined transaction keeps fields, price and position', () => {
    expect(replayOf(mined)).toEqual({
      call: { from: A, value: '0x5', gas: '0x5208', data: '0x1234', gasPrice: '0x7' },
      block: '0x10',
      index: 2,
      replay: mined.hash,
    })
    expect(replayOf({ ...mined, maxFeePerGas: '0x9', maxPriorityFeePerGas: '0x1' }).call).toMatchObject({
      maxFeePerGas: '0x9',
      maxPriorityFeePerGas: '0x1',
    })
    expect(replayOf({ ...mined, maxFeePerGas: '0x9' }).call).not.toHaveProperty('gasPrice')
  })

  it('becomes arguments of debug_traceCall and the step methods', () => {
    const whatIf = { ...replayOf(mined), stateOverrides: { [A]: { nonce: '0x1' } }, blockOverrides: { time: '0x1' } }
    const place = { txIndex: '0x2', stateOverrides: whatIf.stateOverrides, blockOverrides: whatIf.blockOverrides }
    expect(traceCallOf(whatIf, { tracer: 'callTracer' })).toEqual([whatIf.call, '0x10', { tracer: 'callTracer', ...place }])
    expect(steppedOf(whatIf)).toEqual({ transaction: whatIf.call, block: '0x10', ...place })
    expect(curlOf({ call: { data: "0x'" }, block: 'latest' }, 'http://127.0.0.1:8545')).toContain(`"data":"0x'\\''"`)
  })

  it('reads amounts, blocks and objects, and says what they take', () => {
    expect(['5', '0x5', '1.5 ether', '20 gwei', '1,000'].map((text) => amountOf(text, 'Value'))).toEqual([
      '0x5',
      '0x5',
      '0x14d1120d7b160000',
      '0x4a817c800',
      '0x3e8',
    ])
    for (const text of ['', 'x', '1.5', '-1', '0x', '1.0000000001 gwei']) expect(() => amountOf(text, 'Value')).toThrow(BadWhatIf)
    expect(['16', 'latest', '0xAB'].map(blockOf)).toEqual(['0x10', 'latest', '0xab'])
    expect(() => blockOf('soon')).toThrow(BadWhatIf)
    expect([objectText(' ', 'x', ''), objectText('{"a":1}', 'x', '')]).toEqual([undefined, { a: 1 }])
    for (const text of ['[]', '1', '{', 'null'])
      expect(() => objectText(text, 'State overrides', '{}')).toThrow('State overrides takes a JSON object')
    for (const value of [undefined, {}, { call: [], block: 'latest' }, { call: {}, block: 7 }])
      expect(() => whatIfOf(value)).toThrow(BadWhatIf)
    expect(whatIfOf({ call: {}, block: '7', index: -1, replay: 'x', stateOverrides: [] })).toEqual({ call: {}, block: '0x7' })
  })
})

it('code as instructions, with jump targets and cut PUSH data', () => {
  expect(disassembled('0x6001805b90a10c62ff')).toEqual([
    { pc: 0, name: 'PUSH1', data: '0x01', isTarget: false },
    { pc: 2, name: 'DUP1', data: '', isTarget: false },
    { pc: 3, name: 'JUMPDEST', data: '', isTarget: true },
    { pc: 4, name: 'SWAP1', data: '', isTarget: false },
    { pc: 5, name: 'LOG1', data: '', isTarget: false },
    { pc: 6, name: 'opcode 0xc not defined', data: '', isTarget: false },
    { pc: 7, name: 'PUSH3', data: '0xff', isTarget: false },
  ])
})

it('times, also those that are no date', () => {
  expect(time(1_700_000_000)).toBe('2023-11-14 22:13:20 UTC')
  expect(time(2 ** 53)).toBe('9007199254740992 s')
})
