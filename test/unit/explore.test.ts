// Traces as text: the tree with its ids and gas, the origin of a failure, names, hostile text,
// flames.
import { AbiEvent, AbiFunction } from 'ox'
import { describe, expect, it } from 'vitest'
import { signaturesOfAbi } from '../../ts/explore/abi.ts'
import { balanceChanges } from '../../ts/explore/balances.ts'
import {
  BadSignature,
  buildTree,
  failureChain,
  flameSvg,
  folded,
  gasText,
  Names,
  opcodeText,
  preorder,
  printable,
  type RawFrame,
  STEPS_HEADING,
  speedscope,
  stateText,
  stepText,
  transactionText,
  treeText,
} from '../../ts/explore/index.ts'

const A = `0x${'aa'.repeat(20)}`
const B = `0x${'bb'.repeat(20)}`
const word = (n: number | bigint): string => n.toString(16).padStart(64, '0')
const addressWord = (address: string): string => address.slice(2).padStart(64, '0')
/** `transfer(address,uint256)` to B. */
const TRANSFER = `0xa9059cbb${addressWord(B)}${word(5)}`
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** `Error(string)`. */
const revert = (message: string): string => {
  const bytes = Buffer.from(message)
  return `0x08c379a0${word(32)}${word(bytes.length)}${bytes.toString('hex').padEnd(Math.ceil(bytes.length / 32) * 64, '0')}`
}

const frame = (more: Partial<RawFrame> = {}): RawFrame => ({
  type: 'CALL',
  from: A,
  to: B,
  value: '0x0',
  gas: '0x100',
  gasUsed: '0x64',
  input: '0x',
  ...more,
})
const failed = (output: string | undefined, calls: RawFrame[] = [], more: Partial<RawFrame> = {}): RawFrame =>
  frame({ error: 'execution reverted', calls, ...(output === undefined ? {} : { output }), ...more })

it('knows console.log, of versions that hashed uint too', () => {
  const names = new Names()
  // `log(string,uint256)` and `log(string,uint)` with "at", 7.
  const data = `${word(64)}${word(7)}${word(2)}${'6174'.padEnd(64, '0')}`
  for (const selector of ['b60e72cc', '9710a9d0']) expect(names.call(`0x${selector}${data}`)).toBe('log("at", 7)')
  expect(names.call(`0x12345678${word(1)}`)).toMatch(/^0x12345678\(/)
})

it('separates events of ERC-20 and ERC-721 by their topics', () => {
  const names = new Names()
  const topics = [TRANSFER_TOPIC, `0x${addressWord(A)}`, `0x${addressWord(B)}`]
  expect(names.event(topics, `0x${word(5)}`)).toBe('Transfer(from: 0xaaaa..aaaa, to: 0xbbbb..bbbb, value: 5)')
  expect(names.event([...topics, `0x${word(5)}`], '0x')).toBe('Transfer(from: 0xaaaa..aaaa, to: 0xbbbb..bbbb, tokenId: 5)')
})

describe('the tree', () => {
  const top = buildTree(
    frame({
      gasUsed: '0x64',
      calls: [frame({ gasUsed: '0xa' }), frame({ gasUsed: '0x14', calls: [frame({ gasUsed: '0x5' })] })],
      logs: [
        { address: B, topics: [TRANSFER_TOPIC], data: '0x', position: '0x1' },
        { address: B, topics: [], data: '0x', position: '0x2' },
      ],
    }),
  )

  it('gives each frame its place, and gas of its own', () => {
    expect([...preorder(top)].map(({ id, ownGas, depth }) => [id, ownGas, depth])).toEqual([
      ['0', 70, 0],
      ['0.0', 10, 1],
      ['0.1', 15, 1],
      ['0.1.0', 5, 2],
    ])
  })

  it('has events between the calls', () => {
    expect(top.items.map((item) => ('kind' in item ? item.id : item.topics.length))).toEqual(['0.0', 1, '0.1', 0])
  })

  it('takes frames as deep as the EVM nests them', () => {
    let deep = frame()
    for (let i = 0; i < 1024; i++) deep = frame({ calls: [deep] })
    const tree = buildTree(deep)
    expect([...preorder(tree)].at(-1)?.depth).toBe(1024)
    expect(treeText(tree, new Names())).toHaveLength(1025)
  })
})

describe('the failure', () => {
  const chainOf = (raw: RawFrame) => failureChain(buildTree(raw)).map(({ role, frame: { id } }) => [role, id])

  it('arose innermost, and was passed on, replaced or dropped', () => {
    const origin = failed(revert('low'))
    expect(chainOf(failed(undefined, [frame(), failed(revert('high'), [failed(revert('low'), [origin])])]))).toEqual([
      ['arose', '0.1.0.0'],
      ['passed on', '0.1.0'],
      ['replaced', '0.1'],
      ['dropped', '0'],
    ])
  })

  it('is not that of a call whose failure was caught', () => {
    expect(chainOf(failed(revert('own'), [failed(revert('caught')), frame()]))).toEqual([['arose', '0']])
    expect(chainOf(frame({ calls: [failed(revert('caught'))] }))).toEqual([])
  })

  it('is the frame’s own if gas ran out after a failed call', () => {
    expect(chainOf(failed(undefined, [failed(revert('low'))], { error: 'out of gas' }))).toEqual([['arose', '0']])
  })
})

describe('names', () => {
  const names = new Names({
    labels: new Map([[B, 'Bob']]),
    signatures: ['error TooBig(uint256 have)', 'hello(bytes4)', 'event Ping(uint256 n)'],
  })

  it('decode events whose parameters have no names, in their order', () => {
    const given = new Names({ signatures: ['event E(uint256, address indexed)', 'event F(address indexed, uint256 amount)'] })
    const topic = (text: string): string => AbiEvent.getSelector(AbiEvent.from(text as never))
    const indexed = `0x${addressWord(A)}`
    expect(given.event([topic('event E(uint256, address indexed)'), indexed], `0x${word(5)}`)).toBe('E(5, 0xaaaa..aaaa)')
    expect(given.event([topic('event F(address indexed, uint256)'), indexed], `0x${word(5)}`)).toBe('F(0xaaaa..aaaa, amount: 5)')
  })

  it('take parameters that are called as words of Solidity', () => {
    const abi = [
      {
        type: 'event',
        name: 'CallFailed',
        inputs: [
          { name: 'target', type: 'address', indexed: true },
          { name: 'error', type: 'uint256' },
        ],
      },
      { type: 'function', name: 'report', inputs: [{ name: 'of', type: 'uint256' }], outputs: [] },
    ]
    const given = new Names({ signatures: signaturesOfAbi(JSON.stringify(abi)) })
    const topic = AbiEvent.getSelector(AbiEvent.from('event CallFailed(address indexed target, uint256 x)'))
    expect(given.event([topic, `0x${addressWord(A)}`], `0x${word(3)}`)).toBe('CallFailed(target: 0xaaaa..aaaa, error: 3)')
    const selector = AbiFunction.getSelector(AbiFunction.from('function report(uint256)'))
    expect(given.call(`${selector}${word(9)}`)).toBe('report(of: 9)')
    // Within a tuple too; and a type may be called so.
    const tuple = new Names({ signatures: ['function g((uint256 of, uint256 n) in)', 'function h(uint256, function)'] })
    const [g = '', h = ''] = ['function g((uint256,uint256))', 'function h(uint256, function)'].map((text) =>
      AbiFunction.getSelector(AbiFunction.from(text as never)),
    )
    expect(tuple.call(`${g}${word(1)}${word(2)}`)).toBe('g(in: (of: 1, n: 2))')
    expect(tuple.functionsOf(h)).toEqual(['h(uint256,function)'])
  })

  it('decode calls, errors and events, with labels', () => {
    expect(names.call(TRANSFER)).toBe('transfer(to: Bob(0xbbbb..bbbb), amount: 5)')
    expect(names.call('0x12345678')).toBe('0x12345678()')
    expect(names.call('0x1234')).toBe('(0x1234)')
    expect(names.call('0x')).toBe('(no data)')
    expect(names.event([TRANSFER_TOPIC, `0x${addressWord(A)}`, `0x${addressWord(B)}`], `0x${word(7)}`)).toBe(
      'Transfer(from: 0xaaaa..aaaa, to: Bob(0xbbbb..bbbb), value: 7)',
    )
    // The same topic without the others: not the event of that signature.
    expect(names.event([TRANSFER_TOPIC, `0x${word(1)}`], '0x')).toContain(TRANSFER_TOPIC)
    expect(names.event([], '0x')).toBe('anonymous')
  })

  it('say why a call failed', () => {
    expect(names.reason(revert('too low'))).toBe('too low')
    expect(names.reason(`0x4e487b71${word(0x11)}`)).toBe('panic 0x11: arithmetic overflow or underflow')
    expect(names.reason(`0xe0a89a3a${word(9)}`)).toBe('TooBig(have: 9)')
    expect(names.reason('0xdeadbeef')).toBe('custom error 0xdeadbeef')
    // Bytes that only begin as one of Solidity's.
    expect(names.reason('0x08c379a0ff')).toBe('custom error 0x08c379a0ff')
    expect(names.reason('0x')).toBeUndefined()
  })

  it('refuse what is no signature', () => {
    expect(() => new Names({ signatures: ['function (('] })).toThrow(BadSignature)
    expect(() => new Names({ signatures: ['error E(nosuch)'] })).toThrow('"error E(nosuch)" is no signature')
  })
})

describe('text', () => {
  it('has the facts, the failure first and then the tree', () => {
    const low = failed(revert('low'), [], { input: TRANSFER, gasUsed: '0xa' })
    const top = buildTree(failed(undefined, [frame({ output: `0x${word(1)}` }), low], { gasUsed: '0x7d0', value: '0xde0b6b3a7640000' }))
    const heading = { hash: '0x12', block: 7, index: 3, gasUsed: 23_000, gasLimit: 100_000 }
    expect(transactionText(heading, top, new Names()).split('\n')).toEqual([
      '0x12  block 7 #3   FAILED   gas 23,000 of 100,000',
      'arose     [0.1] 0xbbbb..bbbb::transfer(to: 0xbbbb..bbbb, amount: 5)  low',
      'dropped   [0] 0xbbbb..bbbb{value: 1 ether}::(no data)  (no data)',
      '',
      '[2,000] CALL 0xbbbb..bbbb{value: 1 ether}::(no data)  ✗ dropped',
      '├─ [100] CALL 0xbbbb..bbbb::(no data)',
      `│  └─ ← 0x${word(1)}`,
      '└─ [10] CALL 0xbbbb..bbbb::transfer(to: 0xbbbb..bbbb, amount: 5)  ✗ low',
      '',
    ])
    expect(treeText(top, new Names(), { depth: 0 })).toEqual([
      '[2,000] CALL 0xbbbb..bbbb{value: 1 ether}::(no data)  ✗ dropped',
      '└─ … 2 more',
    ])
    expect(treeText(top, new Names(), { width: 20 }).every((line) => line.length <= 20)).toBe(true)
  })

  it('escapes what a contract says', () => {
    const hostile = '\u001b[2J\u202e<script>\u0000\nline\ud800'
    const shown = new Names().reason(revert(hostile)) ?? ''
    expect(shown).toBe('\\u{1b}[2J\\u{202e}<script>\\u{0}\\u{a}line\ufffd')
    expect(printable('a'.repeat(300))).toBe(`${'a'.repeat(256)}…`)
    expect(printable('a'.repeat(300), true)).toHaveLength(300)
    expect(printable('\ud800')).toBe('\\u{d800}')
  })

  it('sums gas by function', () => {
    const call = frame({ input: TRANSFER, gasUsed: '0x14' })
    const top = buildTree(frame({ gasUsed: '0x64', calls: [call, call] }))
    expect(gasText([{ frames: preorder(top) }], new Names())).toBe(
      ['          60   60.0 %       1 calls  0xbbbb..bbbb::', '          40   40.0 %       2 calls  0xbbbb..bbbb::transfer', ''].join('\n'),
    )
  })
})

describe('flames', () => {
  const call = frame({ input: TRANSFER, gasUsed: '0x14' })
  const tops = [buildTree(frame({ gasUsed: '0x64', calls: [call, failed('0x', [], { gasUsed: '0xa' }), call] }))]
  const names = new Names()

  it('fold equal stacks together, and sum up to the gas', () => {
    expect(folded(tops, names)).toBe('0xbbbb..bbbb 50\n0xbbbb..bbbb;0xbbbb..bbbb::transfer 40\n0xbbbb..bbbb;0xbbbb..bbbb 10\n')
  })

  it('are a profile of speedscope', () => {
    const profile = JSON.parse(speedscope(tops, names, 'a title'))
    expect(profile.shared.frames).toEqual([{ name: '0xbbbb..bbbb' }, { name: '0xbbbb..bbbb::transfer' }])
    expect(profile.profiles[0]).toEqual({
      type: 'sampled',
      name: 'a title',
      unit: 'none',
      startValue: 0,
      endValue: 100,
      samples: [[0], [0, 1], [0, 0], [0, 1]],
      weights: [50, 20, 10, 20],
    })
  })

  it('are an SVG in which nothing of a contract is markup', () => {
    const labels = new Map([[B, '<script>alert(1)</script>&"']])
    const svg = flameSvg(tops, new Names({ labels }), '<b>')
    expect(svg).not.toMatch(/<script|<b>/)
    expect(svg.match(/<rect /g)).toHaveLength(4)
    expect(svg.match(/stroke="#c00"/g)).toHaveLength(1)
    expect(svg).toContain('100 gas, 50 of its own')
  })
})

describe('steps and gas by opcode', () => {
  it('are lines under a heading', () => {
    const step = { index: 812, frame: 1, pc: 33, op: 'SSTORE', gas: 977_979, gasCost: 22_100, depth: 2, stack: ['0x5', '0x1'] }
    expect([
      STEPS_HEADING,
      stepText(step, ['0', '0.0']),
      stepText({ ...step, frame: 7, stackSize: 9, error: 'out of gas' }, ['0']),
    ]).toEqual([
      '      step  frame             pc  opcode                   gas        cost  stack, its top first',
      '       812  [0.0]             33  SSTORE               977,979      22,100  0x1 0x5',
      '       812  [#7]              33  SSTORE               977,979      22,100  0x1 0x5 … 7 more  ✗ out of gas',
    ])
  })

  it('say what went elsewhere', () => {
    const rows = [
      ['PUSH1', 1_200, 3_600],
      ['SSTORE', 1, 22_100],
    ] as const
    expect(opcodeText(rows, { executionGas: 26_000, stepsGas: 25_700 })).toBe(
      [
        '      22,100   85.0 %        1 step   SSTORE',
        '       3,600   13.8 %    1,200 steps  PUSH1',
        '         300    1.2 %                 precompiled contracts and deposits of code',
        '',
      ].join('\n'),
    )
    expect(opcodeText([], { executionGas: 0, stepsGas: 0 })).toBe('\n')
  })
})

describe('what a transaction changed', () => {
  const names = new Names({ labels: new Map([[A, 'Pool (new)']]) })

  it('is a paragraph for each account', () => {
    const slot = (n: number): string => `0x${word(n)}`
    const diff = {
      pre: {
        [A]: { balance: '0xde0b6b3a7640000', nonce: 5, storage: { [slot(2)]: slot(7), [slot(3)]: slot(1) } },
        [`0x${'cc'.repeat(20)}`]: { balance: '0x1', nonce: 1, code: '0x6000' },
      },
      post: {
        [A]: { balance: '0x6f05b59d3b20000', nonce: 6, storage: { [slot(1)]: slot(0xab), [slot(2)]: slot(8) } },
        [B]: { balance: '0x6f05b59d3b20000', code: '0x600000' },
      },
    }
    expect(stateText(diff, names)).toEqual([
      `${A} Pool (new)`,
      '  balance  1 ether → 0.5 ether  (-0.5 ether)',
      '  nonce    5 → 6',
      '  storage  0x1: 0x0 → 0xab',
      '  storage  0x2: 0x7 → 0x8',
      '  storage  0x3: 0x1 → 0x0',
      `${B}  created`,
      '  balance  0 ether → 0.5 ether  (+0.5 ether)',
      '  code     none → 3 bytes',
      `0x${'cc'.repeat(20)}  deleted`,
      '  balance  0.000000000000000001 ether → 0 ether  (-0.000000000000000001 ether)',
      '  nonce    1 → 0',
      '  code     2 bytes → none',
    ])
    expect(stateText({ pre: {}, post: {} }, names)).toEqual(['nothing changed'])
  })
})

describe('balances', () => {
  const BATCH = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
  const TOKEN = `0x${'11'.repeat(20)}`
  const deltas = (data: readonly (number | bigint)[]) => {
    const topics = [BATCH, `0x${addressWord(A)}`, `0x${addressWord(A)}`, `0x${addressWord(B)}`]
    const log = { address: TOKEN, topics, data: `0x${data.map(word).join('')}`, position: '0x0', index: '0x0' }
    return balanceChanges(buildTree(frame({ logs: [log] })), []).map(({ address, id, delta }) => [address, id, delta])
  }

  it('change by every id of a batch', () => {
    expect(deltas([64, 160, 2, 7, 8, 2, 100, 1])).toEqual([
      [A, 7n, -100n],
      [B, 7n, 100n],
      [A, 8n, -1n],
      [B, 8n, 1n],
    ])
  })

  it.each([
    ['lengths that differ', [64, 160, 2, 7, 8, 1, 100]],
    ['a length beyond the data', [64, 160, 2, 7, 8, 3, 100, 1]],
    ['a place within a word', [65, 160, 2, 7, 8, 2, 100, 1]],
    ['a place beyond the data', [64, 2n ** 255n, 2, 7, 8, 2, 100, 1]],
    ['no data', []],
  ])('stay as they are where a batch has %s', (_name, data) => {
    expect(deltas(data)).toEqual([])
  })
})
