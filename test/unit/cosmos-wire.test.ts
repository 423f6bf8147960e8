// Protobuf by tables: bytes that other programs wrote and read, and the JSON of gRPC gateways.
import { describe, expect, it } from 'vitest'
import * as S from '../../ts/cosmos/schemas.ts'
import { decode, encode, type Schema, toJson, WireError } from '../../ts/cosmos/wire.ts'
import { bech32, readBech32 } from '../../ts/rpc/bech32.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('a message', () => {
  const schema: Schema = {
    text: { n: 1, kind: 'string' },
    big: { n: 2, kind: 'int64' },
    small: { n: 3, kind: 'uint32' },
    flag: { n: 4, kind: 'bool' },
    bytes: { n: 5, kind: 'base64' },
    when: { n: 6, kind: 'time' },
    rate: { n: 7, kind: 'dec' },
    state: { n: 8, kind: { names: ['NONE', 'SOME'] } },
    list: { n: 16, kind: 'string', repeated: true },
    digest: { n: 17, kind: 'hex', from: 'hash' },
  }
  const values = {
    text: 'é',
    big: '-1',
    small: 300,
    flag: true,
    bytes: 'AQI=',
    when: '1970-01-01T00:00:01.5Z',
    rate: '0.05',
    state: 1,
    list: ['a', ''],
    hash: 'ABCD',
  }

  it('is written as protobuf says', () => {
    const wanted = [
      '0a02c3a9', // 1: two bytes of UTF-8
      '10ffffffffffffffffff01', // 2: -1 is ten bytes
      '18ac02', // 3: 300, the example of the specification
      '2001', // 4
      '2a020102', // 5
      '3208080110' + '80cab5ee01', // 6: seconds 1, nanos 500,000,000
      `3a11${Buffer.from('50000000000000000').toString('hex')}`, // 7: atoms
      '4001', // 8
      '820101' + '61', // 16
      '820100', // 16 again: an empty text stands there
      '8a0102abcd', // 17
    ].join('')
    expect(hex(encode(schema, values))).toBe(wanted)
  })

  it('reads back, unknown fields passed over', () => {
    const { when: _, ...rest } = schema
    const bytes = encode(schema, values)
    const { when: __, ...wanted } = values
    expect(decode(rest, bytes)).toEqual({ ...wanted, small: '300', rate: '0.050000000000000000', hash: 'abcd' })
  })

  it('is JSON with defaults written out', () => {
    expect(toJson(schema, values)).toEqual({
      text: 'é',
      big: '-1',
      small: 300,
      flag: true,
      bytes: 'AQI=',
      when: '1970-01-01T00:00:01.5Z',
      rate: '0.05',
      state: 'SOME',
      list: ['a', ''],
      digest: 'q80=',
    })
    expect(toJson(schema, {})).toEqual({
      text: '',
      big: '0',
      small: 0,
      flag: false,
      bytes: '',
      when: null,
      rate: '',
      state: 'NONE',
      list: [],
      digest: '',
    })
    expect(encode(schema, {}).length).toBe(0)
  })

  it('knows times before 1970', () => {
    // 0001-01-01, what CometBFT gives for a signature that is absent.
    expect(hex(encode({ t: { n: 1, kind: 'time' } }, { t: '0001-01-01T00:00:00Z' }))).toBe('0a0b088092b8c398feffffff01')
  })

  it.each([
    ['ends within a field', '0a05'],
    ['ends within a number', '10ff'],
    ['has a number of more than 64 bits', `10${'ff'.repeat(10)}`],
    ['has groups', '0b'],
    ['has text where a number belongs', '1201'.concat('61')],
  ])('that %s is refused', (_, bytes) => {
    expect(() => decode(schema, Buffer.from(bytes, 'hex'))).toThrow(WireError)
  })

  it('is not read beyond a depth', () => {
    const nested: { of: Schema } = { of: {} }
    ;(nested.of as Record<string, unknown>).inner = { n: 1, kind: nested }
    let bytes = Buffer.alloc(0)
    for (let i = 0; i < 40; i++) bytes = Buffer.concat([Buffer.from([0x0a, bytes.length]), bytes])
    expect(() => decode(nested.of, bytes)).toThrow('nested more than 16 deep')
  })
})

describe('a transaction of the Cosmos SDK', () => {
  it('is JSON with its message and key', () => {
    const key = { type: '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey', schema: S.REGISTRY.get(S.ED25519) as Schema, values: { key: 'AQ==' } }
    const send = {
      type: '/cosmos.bank.v1beta1.MsgSend',
      schema: S.REGISTRY.get('/cosmos.bank.v1beta1.MsgSend') as Schema,
      values: { from_address: 'a', to_address: 'b', amount: [{ denom: 'wei', amount: '5' }] },
    }
    const bytes = encode(S.TX, {
      body: { messages: [send], memo: 'm' },
      auth_info: {
        signer_infos: [{ public_key: key, mode_info: { single: { mode: 1 } }, sequence: 3 }],
        fee: { amount: [], gas_limit: 21000 },
      },
      signatures: ['AgM='],
    })
    expect(toJson(S.TX, decode(S.TX, bytes, S.REGISTRY))).toEqual({
      body: {
        messages: [
          { '@type': '/cosmos.bank.v1beta1.MsgSend', from_address: 'a', to_address: 'b', amount: [{ denom: 'wei', amount: '5' }] },
        ],
        memo: 'm',
        timeout_height: '0',
        extension_options: [],
        non_critical_extension_options: [],
      },
      auth_info: {
        signer_infos: [
          { public_key: { '@type': key.type, key: 'AQ==' }, mode_info: { single: { mode: 'SIGN_MODE_DIRECT' } }, sequence: '3' },
        ],
        fee: { amount: [], gas_limit: '21000', payer: '', granter: '' },
      },
      signatures: ['AgM='],
    })
  })
})

describe('bech32', () => {
  it.each([
    ['a', '', 'a12uel5l'],
    ['abcdef', '00443214c74254b635cf84653a56d7c675be77df', 'abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw'],
    ['hearthvaloper', '11'.repeat(20), undefined],
  ])('of BIP-173: %s', (prefix, bytes, text) => {
    const made = bech32(prefix, Buffer.from(bytes, 'hex'))
    if (text === undefined) expect(made).toMatch(/^hearthvaloper1[02-9ac-hj-np-z]{38}$/)
    else expect(made).toBe(text)
    expect(readBech32(made)).toEqual({ prefix, bytes: Uint8Array.from(Buffer.from(bytes, 'hex')) })
    expect(readBech32(made.toUpperCase())?.prefix).toBe(prefix)
  })

  // Among them the invalid ones of BIP-173: separator, checksum, padding, case.
  it.each([
    'pzry9x0s0muk',
    '1pzry9x0s0muk',
    'x1b4n0q5v',
    'li1dgmt3',
    'A1G7SGD8',
    '10a06t8',
    'a12uel5m',
    'a12UEL5L',
    'hearth1',
    `hearth1${'q'.repeat(90)}`,
  ])('refuses %s', (text) => {
    expect(readBech32(text)).toBeUndefined()
  })
})
