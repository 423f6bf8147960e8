import { describe, expect, it } from 'vitest'
import * as codec from '../../ts/rpc/codec/index.ts'
import { decodeParams, optional, required } from '../../ts/rpc/method.ts'
import { PLAIN_RULES } from './fake-core.ts'

const refusal = (run: () => unknown): string => {
  try {
    run()
  } catch (e) {
    return (e as Error).message
  }
  return 'accepted'
}

const HASH = `0x${'ab'.repeat(32)}`
const ADDRESS = `0x${'Cd'.repeat(20)}`

describe('hex', () => {
  it.each([
    [codec.address, '0x1234', 'hex string has length 4, want 40'],
    [codec.address, 'cd'.repeat(20), 'hex string without 0x prefix'],
    [codec.address, '', 'empty hex string'],
    [codec.address, 7, 'cannot use number as a hex string'],
    [codec.address, `0x${'zz'.repeat(20)}`, 'invalid hex string'],
    [codec.hash, ADDRESS, 'hex string has length 40, want 64'],
    [codec.data, '0x123', 'hex string of odd length'],
    [codec.uint64, '0x', 'hex string "0x"'],
    [codec.uint64, '0x01', 'hex number with leading zero digits'],
    [codec.uint64, '0x10000000000000000', 'hex number > 64 bits'],
    [codec.uint64, '5', 'hex string without 0x prefix'],
    [codec.uint256, `0x1${'0'.repeat(64)}`, 'hex number > 256 bits'],
    [codec.hexOrDecimal, 'x', 'invalid hex or decimal integer "x"'],
    [codec.hexOrDecimal, 1.5, 'invalid hex or decimal integer 1.5'],
    [codec.hexOrDecimal, '18446744073709551616', 'number > 64 bits'],
    [codec.storageKey, '0xasdf', 'invalid hex in storage key: "0xasdf"'],
    [codec.storageKey, `0x${'0'.repeat(65)}`, `storage key too long (want at most 32 bytes): "0x${'0'.repeat(65)}"`],
  ] as const)('%# refuses %s', (check, value, message) => {
    expect(refusal(() => (check as codec.Codec<unknown>)(value))).toBe(message)
  })

  it('accepts', () => {
    expect(codec.address(ADDRESS)).toBe(ADDRESS)
    expect(codec.data('0x')).toBe('0x')
    expect(codec.data('0XAB')).toBe('0xAB')
    expect(codec.uint64('0x0')).toBe('0x0')
    expect(codec.uint64('0xffffffffffffffff')).toBe('0xffffffffffffffff')
    expect(codec.hexOrDecimal('0x10')).toBe('0x10')
    expect(codec.hexOrDecimal('16')).toBe('0x10')
    expect(codec.hexOrDecimal(16)).toBe('0x10')
    expect(codec.storageKey('0x1')).toBe(`0x${'1'.padStart(64, '0')}`)
    expect(codec.storageKey('')).toBe(`0x${'0'.repeat(64)}`)
  })

  it('empty bytes and numbers, but no empty height', () => {
    expect(codec.data('')).toBe('0x')
    expect(codec.uint64('')).toBe('0x0')
    expect(codec.transaction({ value: '', gas: '', data: '' })).toEqual({ value: '0x0', gas: '0x0', data: '0x' })
    expect(refusal(() => codec.transaction({ to: '' }))).toBe('to: empty hex string')
    expect(refusal(() => codec.blockNumber(''))).toBe('empty hex string')
    expect(refusal(() => codec.blockRef(''))).toBe('empty hex string')
  })
})

describe('blocks', () => {
  it('by tag, number, hash and object', () => {
    for (const tag of ['latest', 'earliest', 'pending', 'safe', 'finalized', '0x0', '0x7fffffffffffffff'])
      expect(codec.blockRef(tag)).toBe(tag)
    expect(codec.blockRef(HASH)).toEqual({ blockHash: HASH })
    expect(codec.blockRef({ blockHash: HASH, requireCanonical: true })).toEqual({ blockHash: HASH, requireCanonical: true })
    expect(codec.blockRef({ blockNumber: '0x5', blockHash: null })).toBe('0x5')
  })

  it.each([
    ['newest', 'hex string without 0x prefix'],
    [5, 'cannot use number as a block'],
    ['0x8000000000000000', 'block number larger than int64'],
    [{}, 'invalid arguments; neither block nor hash specified'],
    [{ blockNumber: '0x1', blockHash: HASH }, 'cannot specify both BlockHash and BlockNumber, choose one or the other'],
    [{ blockHash: '0x12' }, 'blockHash: hex string has length 2, want 64'],
    [{ blockHash: HASH, requireCanonical: 'yes' }, 'requireCanonical: cannot use string as a boolean'],
  ])('refuses %j', (value, message) => {
    expect(refusal(() => codec.blockRef(value))).toBe(message)
  })
})

describe('objects', () => {
  it('keep known fields and name the bad one', () => {
    expect(codec.transaction({ to: ADDRESS, gas: '0x1', data: null, unknown: 1 })).toEqual({ to: ADDRESS, gas: '0x1' })
    expect(refusal(() => codec.transaction({ accessList: [{ address: ADDRESS }, { address: ADDRESS, storageKeys: ['0x1'] }] }))).toBe(
      'accessList[1].storageKeys[0]: hex string has length 1, want 64',
    )
    expect(refusal(() => codec.stateOverrides({ [ADDRESS]: { state: { [HASH]: '0x1' } } }))).toBe(
      `${ADDRESS}.state.${HASH}: hex string has length 1, want 64`,
    )
    expect(refusal(() => codec.blockOverrides([]))).toBe('cannot use array as an object')
  })

  it('a filter has a block or range, 4 positions, alternatives', () => {
    const topics = [null, HASH, [HASH, null], []]
    expect(codec.filter({ fromBlock: '0x1', toBlock: 'latest', address: [ADDRESS], topics })).toEqual({
      fromBlock: '0x1',
      toBlock: 'latest',
      address: [ADDRESS],
      topics,
    })
    expect(refusal(() => codec.filter({ blockHash: HASH, toBlock: '0x1' }))).toBe(
      'cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other',
    )
    expect(refusal(() => codec.filter({ topics: [null, null, null, null, null] }))).toBe('topics: exceed max topics')
    expect(refusal(() => codec.filter({ topics: [[...Array(1001)].map(() => HASH)] }))).toBe('topics[0]: exceed max topics')
    expect(codec.filter({ address: [...Array(1000)].map(() => ADDRESS) }).address).toHaveLength(1000)
    expect(refusal(() => codec.filter({ address: [...Array(1001)].map(() => ADDRESS) }))).toBe(
      'exceed max addresses or topics per search position',
    )
    expect(refusal(() => codec.filter({ address: [ADDRESS, '0x1'] }))).toBe('address[1]: hex string has length 1, want 40')
  })
})

describe('keys of objects', () => {
  it('are compared without case, and the last of two counts', () => {
    expect(codec.transaction({ To: ADDRESS, DATA: '0x01', data: '0x02', unknown: 1 })).toEqual({ to: ADDRESS, data: '0x02' })
    expect(codec.transaction({ data: '0x02', DATA: '0x01' })).toEqual({ data: '0x01' })
    expect(codec.blockRef({ BlockNumber: '0x1' })).toBe('0x1')
    const overrides = { [ADDRESS]: { Balance: '0x1' } }
    expect(
      codec.callConfig({ Tracer: 'callTracer', TxIndex: '0x0', StateOverrides: overrides, BlockOverrides: { Number: '0x5' } }),
    ).toEqual({
      config: { Tracer: 'callTracer' },
      txIndex: '0x0',
      stateOverrides: { [ADDRESS]: { balance: '0x1' } },
      blockOverrides: { number: '0x5' },
    })
  })

  it('are so for the time limit of a trace', () => {
    const rules = { ...PLAIN_RULES.trace, timeoutMs: 5000 }
    expect(codec.underRules({ Timeout: '1s' }, rules)).toEqual({ Timeout: '1s' })
    expect(codec.underRules({ timeout: null }, rules)).toEqual({ timeout: '5000ms' })
    expect(codec.underRules(undefined, rules)).toEqual({ timeout: '5000ms' })
  })
})

describe('filters that are followed', () => {
  it.each([
    [{}],
    [{ fromBlock: 'latest', toBlock: 'latest' }],
    [{ fromBlock: '0x1' }],
    [{ fromBlock: 'earliest' }],
    [{ fromBlock: 'earliest', toBlock: '0x5' }],
    [{ fromBlock: '0x5', toBlock: '0x5' }],
    [{ blockHash: HASH }],
  ])('are those of go-ethereum: %j', (criteria) => {
    expect(codec.followable(codec.filter(criteria))).toEqual(criteria)
  })

  it.each([
    [{ toBlock: '0x64' }],
    [{ fromBlock: 'finalized' }],
    [{ fromBlock: 'safe', toBlock: 'latest' }],
    [{ fromBlock: '0x1', toBlock: 'safe' }],
    [{ fromBlock: '0x1', toBlock: 'earliest' }],
    [{ fromBlock: '0x6', toBlock: '0x5' }],
  ])('are no ranges that have no logs to come: %j', (criteria) => {
    expect(refusal(() => codec.followable(codec.filter(criteria)))).toBe('invalid block range params')
  })
})

describe('refusals that are not of a parameter', () => {
  const code = (run: () => unknown): unknown => {
    try {
      return run()
    } catch (e) {
      return [(e as { code?: number }).code, (e as Error).message]
    }
  }

  it('have the codes and texts of go-ethereum', () => {
    const filter = [required('filter', (value) => codec.followable(codec.filter(value)))]
    expect(code(() => decodeParams(filter, [{ fromBlock: '0x6', toBlock: '0x5' }]))).toEqual([-32602, 'invalid block range params'])
    expect(code(() => decodeParams(filter, [{ toBlock: 'pending' }]))).toEqual([-32602, 'pending logs are not supported'])
    const addresses = { address: [...Array(1001)].map(() => ADDRESS) }
    expect(code(() => decodeParams(filter, [addresses]))).toEqual([-32000, 'exceed max addresses or topics per search position'])
    const slots = [required('slots', codec.arrayOf(codec.storageKey, 2))]
    expect(code(() => decodeParams(slots, [['0x1', '0xzz']]))).toEqual([-32602, 'invalid hex in storage key: "0xzz"'])
    const block = [required('block', codec.blockRef)]
    expect(code(() => decodeParams(block, [{}]))).toEqual([-32000, 'invalid arguments; neither block nor hash specified'])
  })
})

describe('parameters', () => {
  const params = [required('address', codec.address), optional('block', codec.blockRef)]

  it('that are lists, booleans or objects may be null', () => {
    const given = [required('keys', codec.arrayOf(codec.hash, 2), []), required('full', codec.boolean, false)]
    expect(decodeParams(given, [null, null])).toEqual([[], false])
    expect(refusal(() => decodeParams(given, [null]))).toBe('missing value for required argument 1')
  })

  it('in the words of go-ethereum, with the name of the parameter', () => {
    expect(decodeParams(params, [ADDRESS])).toEqual([ADDRESS, undefined])
    expect(decodeParams(params, [ADDRESS, null])).toEqual([ADDRESS, undefined])
    expect(refusal(() => decodeParams(params, null))).toBe('missing value for required argument 0')
    expect(refusal(() => decodeParams(params, [null]))).toBe('missing value for required argument 0')
    expect(refusal(() => decodeParams(params, [ADDRESS, 'latest', 1]))).toBe('too many arguments, want at most 2')
    expect(refusal(() => decodeParams(params, ['0x1']))).toBe('invalid argument 0: address: hex string has length 1, want 40')
    expect(refusal(() => decodeParams(params, [ADDRESS, { blockHash: '0x1' }]))).toBe(
      'invalid argument 1: block.blockHash: hex string has length 1, want 64',
    )
  })
})
