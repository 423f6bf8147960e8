// The output of a development chain's console for frames, reasons and calls of console.log; the
// signatures are computed again.
import { encodeAbiParameters, encodeErrorResult, keccak256, parseAbi, toBytes } from 'viem'
import { describe, expect, it } from 'vitest'
import { decodeArguments } from '../../ts/dev/abi.ts'
import { CONSOLE_ADDRESS, consoleLine } from '../../ts/dev/console-log.ts'
import { CONSOLE_SIGNATURES } from '../../ts/dev/console-signatures.ts'
import { consoleLines, type Frame, failureOf } from '../../ts/dev/frames.ts'
import { jsonPrinter, textPrinter } from '../../ts/dev/printer.ts'
import { revertReason } from '../../ts/dev/reason.ts'

const selectorOf = (signature: string): string => keccak256(toBytes(signature)).slice(2, 10)

const log = (signature: string, values: readonly unknown[]): string => {
  const types =
    /\((.*)\)/
      .exec(signature)?.[1]
      ?.split(',')
      .filter((type) => type !== '') ?? []
  const data = encodeAbiParameters(
    types.map((type) => ({ type: type.replace(/^(u?int)$/, '$1256') })),
    values,
  )
  return `0x${selectorOf(signature)}${data.slice(2)}`
}

describe('console.log', () => {
  it('knows every function of the library by its selector', () => {
    const table = new Map(
      CONSOLE_SIGNATURES.trim()
        .split(/\s+/)
        .map((entry) => entry.split(':') as [string, string]),
    )
    const names = { u: 'uint256', s: 'string', b: 'bool', a: 'address' } as const
    const letters = Object.keys(names) as (keyof typeof names)[]
    let lists: string[] = ['']
    let checked = 0
    for (let length = 0; length <= 4; length++) {
      for (const list of lists) {
        const types = [...list].map((letter) => names[letter as keyof typeof names])
        expect(table.get(selectorOf(`log(${types.join(',')})`)), list).toBe(list)
        expect(table.get(selectorOf(`log(${types.join(',').replaceAll('uint256', 'uint')})`)), list).toBe(list)
        checked++
      }
      lists = lists.flatMap((list) => letters.map((letter) => list + letter))
    }
    expect(checked).toBe(1 + 4 + 16 + 64 + 256)
    for (let bytes = 1; bytes <= 32; bytes++) expect(table.get(selectorOf(`logBytes${bytes}(bytes${bytes})`))).toBe(String(bytes))
    expect(table.get(selectorOf('logInt(int256)'))).toBe('i')
    expect(table.get(selectorOf('log(string,int256)'))).toBe('si')
    expect(table.get(selectorOf('logBytes(bytes)'))).toBe('y')
  })

  it('prints values as the library does, with format specifiers', () => {
    const line = (signature: string, ...values: unknown[]): string | undefined => consoleLine(CONSOLE_ADDRESS, log(signature, values))
    expect(line('log()')).toBe('')
    expect(line('log(string,uint256)', 'swapped %d tokens', 7n)).toBe('swapped 7 tokens')
    expect(line('log(string,uint)', 'x', 2n ** 255n)).toBe(`x ${2n ** 255n}`)
    expect(line('log(int256)', -5n)).toBe('-5')
    expect(line('log(bool,address)', true, '0x00000000000000000000000000000000000000AA')).toBe(
      'true 0x00000000000000000000000000000000000000aa',
    )
    expect(line('log(string,string,string)', '%s and %s, 100%%', 'a', 'b')).toBe('a and b, 100%')
    expect(line('logBytes4(bytes4)', '0x01020304')).toBe('0x01020304')
    expect(line('logBytes(bytes)', '0xdeadbeef')).toBe('0xdeadbeef')
  })

  it('ignores other calls, unknown functions and bad arguments', () => {
    const input = log('log(string)', ['x'])
    expect(consoleLine('0x0000000000000000000000000000000000000001', input)).toBeUndefined()
    expect(consoleLine(undefined, input)).toBeUndefined()
    expect(consoleLine(CONSOLE_ADDRESS, '0x12345678')).toBeUndefined()
    for (let length = 10; length <= 138; length += 2) expect(consoleLine(CONSOLE_ADDRESS, input.slice(0, length))).toBeUndefined()
    expect(consoleLine(CONSOLE_ADDRESS, `0x${selectorOf('log(string)')}${'ff'.repeat(96)}`)).toBeUndefined()
  })

  it('lets no character through that a terminal would act on', () => {
    expect(consoleLine(CONSOLE_ADDRESS, log('log(string)', ['a\u001b[31mred\u0007\nnext']))).toBe('a\\x1b[31mred\\x07\nnext')
  })
})

describe('a reason', () => {
  const abi = parseAbi(['error Mine(uint256 a, address b)', 'error Bare()'])
  it('is an Error’s text, a Panic’s meaning, or a selector', () => {
    const error = encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: ['too "late"'] })
    expect(revertReason(error)).toBe('"too \\"late\\""')
    const panic = (code: bigint): string => encodeErrorResult({ abi: parseAbi(['error Panic(uint256)']), args: [code] })
    expect(revertReason(panic(0x11n))).toBe('panic 0x11: arithmetic overflow or underflow')
    expect(revertReason(panic(0x01n))).toBe('panic 0x01: assertion failed')
    expect(revertReason(panic(0x99n))).toBe('panic 0x99: a code without a meaning')
    const bare = encodeErrorResult({ abi, errorName: 'Bare' })
    expect(revertReason(bare)).toBe(`custom error ${bare}`)
    const mine = encodeErrorResult({ abi, errorName: 'Mine', args: [1n, '0x00000000000000000000000000000000000000aa'] })
    expect(revertReason(mine)).toBe(`custom error ${mine.slice(0, 10)} with 64 bytes: 0x${mine.slice(10)}`)
  })

  it('is absent without data, and raw if it is no error', () => {
    expect(revertReason(undefined)).toBeUndefined()
    expect(revertReason('0x')).toBeUndefined()
    expect(revertReason('0x0102')).toBe('0x0102 (fewer bytes than a selector)')
    expect(revertReason(`0x08c379a0${'ff'.repeat(32)}`)).toMatch(/^custom error 0x08c379a0 with 32 bytes/)
    expect(decodeArguments(['bool'], Buffer.alloc(32, 2))).toBeUndefined()
  })
})

describe('a failure', () => {
  const reverted = encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: ['no'] })
  const frame = (to: string, more: Partial<Frame> = {}): Frame => ({ type: 'CALL', from: '0x01', to, input: '0xa9059cbb00', ...more })
  it('is that of the innermost frame that it came from', () => {
    const inner = frame('0x03', { error: 'execution reverted', output: reverted })
    const top = frame('0x01', {
      error: 'execution reverted',
      output: reverted,
      calls: [frame('0x09'), frame('0x02', { error: 'execution reverted', output: reverted, calls: [inner] })],
    })
    expect(failureOf(top)).toEqual({ reason: 'execution reverted: "no"', type: 'CALL', to: '0x03', selector: '0xa9059cbb', depth: 2 })
  })

  it('is not that of a call whose failure was taken', () => {
    const taken = frame('0x02', { error: 'execution reverted', output: reverted })
    const own = encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: ['mine'] })
    expect(failureOf(frame('0x01', { error: 'execution reverted', output: own, calls: [taken] }))).toMatchObject({
      reason: 'execution reverted: "mine"',
      to: '0x01',
      depth: 0,
      replaced: { reason: 'execution reverted: "no"', to: '0x02', depth: 1 },
    })
    expect(failureOf(frame('0x01', { error: 'out of gas', calls: [taken, frame('0x05')] }))).toMatchObject({
      reason: 'out of gas',
      depth: 0,
    })
    expect(failureOf(frame('0x01', { calls: [taken] }))).toBeUndefined()
  })

  it('is what the sender gets, across replaced and dropped ones', () => {
    const [low, high] = ['low', 'high'].map((text) => encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: [text] }))
    const failed = (to: string, output: string | undefined, calls: Frame[] = []): Frame =>
      frame(to, { error: 'execution reverted', ...(output === undefined ? {} : { output }), calls })
    const top = failed('0x01', undefined, [failed('0x02', high, [failed('0x03', low, [failed('0x04', low)])])])
    expect(failureOf(top)).toMatchObject({ to: '0x02', depth: 1, replaced: { to: '0x04', depth: 3 } })
    const out: string[] = []
    textPrinter((text) => out.push(text)).transaction({
      block: 3,
      hash: '0xabc',
      gasUsed: 21_000,
      created: undefined,
      failure: failureOf(top),
      console: [],
      url: 'http://127.0.0.1:8545/tx/0xabc',
    })
    expect(out.join('')).toBe(
      [
        'block 3  0xabc  gas 21,000  failed: execution reverted: "high"',
        '  in CALL to 0x02, function 0xa9059cbb, 1 call deep',
        '  in place of execution reverted: "low"',
        '    in CALL to 0x04, function 0xa9059cbb, 3 calls deep',
        '  http://127.0.0.1:8545/tx/0xabc',
        '',
      ].join('\n'),
    )
  })

  it('of a contract that is made names no function', () => {
    expect(failureOf({ type: 'CREATE', from: '0x01', input: '0x6080604052', error: 'invalid opcode: INVALID' })).toEqual({
      reason: 'invalid opcode: INVALID',
      type: 'CREATE',
      to: undefined,
      selector: undefined,
      depth: 0,
    })
  })
})

describe('printing', () => {
  it('a request is one line, whatever name a client sent', () => {
    const out: string[] = []
    textPrinter((text) => out.push(text)).request('eth_a\nblock 7\u001b[2J', 1, false)
    expect(out).toEqual(['eth_a block 7\\x1b[2J  1.0 ms  failed\n'])
  })

  const top: Frame = {
    type: 'CALL',
    from: '0x01',
    to: '0x02',
    input: '0x',
    calls: [
      { type: 'STATICCALL', from: '0x02', to: CONSOLE_ADDRESS, input: log('log(string)', ['one']) },
      {
        type: 'CALL',
        from: '0x02',
        to: '0x03',
        input: '0x',
        calls: [{ type: 'STATICCALL', from: '0x03', to: CONSOLE_ADDRESS, input: log('log(uint256)', [2n]) }],
      },
      { type: 'STATICCALL', from: '0x02', to: CONSOLE_ADDRESS, input: log('log(string)', ['three']) },
    ],
  }
  const shown = {
    block: 3,
    hash: '0xabc',
    gasUsed: 43_211,
    created: undefined,
    failure: { reason: 'execution reverted: "no"', type: 'CALL', to: '0x03', selector: '0xa9059cbb', depth: 1 },
    console: consoleLines(top),
  }
  it('has lines in the order of their logs, for a reader', () => {
    const out: string[] = []
    textPrinter((text) => out.push(text)).transaction(shown)
    expect(out.join('')).toBe(
      [
        'block 3  0xabc  gas 43,211  failed: execution reverted: "no"',
        '  in CALL to 0x03, function 0xa9059cbb, 1 call deep',
        '  console.log: one',
        '  console.log: 2',
        '  console.log: three',
        '',
      ].join('\n'),
    )
  })

  it('has one line for empty blocks, however many', () => {
    const [text, json]: [string[], string[]] = [[], []]
    for (const printer of [textPrinter((line) => text.push(line)), jsonPrinter((line) => json.push(line))]) {
      printer.empty({ first: 7, last: 7, hash: '0xa' })
      printer.empty({ first: 8, last: 1007, hash: '0xb' })
    }
    expect(text).toEqual(['block 7  0xa  empty\n', 'blocks 8 to 1007  0xb  empty\n'])
    expect(JSON.parse(json[1] as string)).toEqual({ event: 'empty', first: 8, last: 1007, hash: '0xb' })
  })

  it('has one object a line for a program', () => {
    const out: string[] = []
    const printer = jsonPrinter((text) => out.push(text))
    printer.transaction(shown)
    printer.call('eth_call', ['x'])
    expect(out.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        event: 'transaction',
        success: false,
        block: 3,
        hash: '0xabc',
        gasUsed: 43_211,
        failure: shown.failure,
        console: ['one', '2', 'three'],
      },
      { event: 'call', method: 'eth_call', console: ['x'] },
    ])
    expect(out.every((line) => line.endsWith('\n') && line.indexOf('\n') === line.length - 1)).toBe(true)
  })
})
