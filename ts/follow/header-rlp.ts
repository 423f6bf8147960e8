// A header of JSON-RPC in RLP, for nodes without debug_getRawHeader. Its reader compares the hash.
import { BadAnswer } from './values.ts'

/**
 * The fields of a header in their order (yellow paper 4.4.3, then EIP-1559, 4895, 4844, 4788 and
 * 7685), with whether each is a number.
 */
const FIELDS = [
  ['parentHash', false],
  ['sha3Uncles', false],
  ['miner', false],
  ['stateRoot', false],
  ['transactionsRoot', false],
  ['receiptsRoot', false],
  ['logsBloom', false],
  ['difficulty', true],
  ['number', true],
  ['gasLimit', true],
  ['gasUsed', true],
  ['timestamp', true],
  ['extraData', false],
  ['mixHash', false],
  ['nonce', false],
  ['baseFeePerGas', true],
  ['withdrawalsRoot', false],
  ['blobGasUsed', true],
  ['excessBlobGas', true],
  ['parentBeaconBlockRoot', false],
  ['requestsHash', false],
] as const

/** Fields that every header has; those after them came with forks, each after the one before. */
const ALWAYS = 15

/** Payloads up to this many bytes have a length in their first byte. */
const SHORT_MAX = 55

const STRING = 0x80
const LIST = 0xc0

/** The bytes of a length, without leading zeros. */
function bigEndian(length: number): Buffer {
  const hex = length.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

function prefixed(offset: number, payload: Buffer): Buffer {
  if (payload.length <= SHORT_MAX) return Buffer.concat([Buffer.of(offset + payload.length), payload])
  const length = bigEndian(payload.length)
  return Buffer.concat([Buffer.of(offset + SHORT_MAX + length.length), length, payload])
}

const encoded = (bytes: Buffer): Buffer => (bytes.length === 1 && (bytes[0] as number) < STRING ? bytes : prefixed(STRING, bytes))

function bytesOf(name: string, isNumber: boolean, value: unknown): Buffer {
  if (typeof value !== 'string' || !/^0x[0-9a-f]*$/i.test(value)) throw new BadAnswer(`the field ${name} of a header is not hex`)
  const digits = isNumber ? value.slice(2).replace(/^0+/, '') : value.slice(2)
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
}

/** The RLP of a header, in hex. */
export function headerRlp(header: Readonly<Record<string, unknown>>): string {
  const parts: Buffer[] = []
  for (const [i, [name, isNumber]] of FIELDS.entries()) {
    const value = header[name]
    if (i >= ALWAYS && (value === undefined || value === null)) break
    parts.push(encoded(bytesOf(name, isNumber, value)))
  }
  return `0x${prefixed(LIST, Buffer.concat(parts)).toString('hex')}`
}
