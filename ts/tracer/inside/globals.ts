// Functions that a script finds in its global scope.
import { bigIntLibrary } from './big.ts'
import { ADDRESS_BYTES, bytesFrom, copyOf, fitted, WORD_BYTES } from './bytes.ts'
import { interrupt } from './interrupt.ts'
import { keccak256 } from './keccak.ts'
import { decimal, toInt64, toUint64 } from './numbers.ts'
import { Bytes, defineProperty, setAll, Text } from './primordials.ts'
import { bytesOfHex, hexOf } from './text.ts'

let precompiles: readonly string[] = []

/**
 * The precompiled contracts of the block's fork, as hex digits without prefix. None before the
 * transaction begins, as in go-ethereum.
 */
export function setPrecompiles(addresses: readonly string[]): void {
  precompiles = addresses
}

const addressOf = (value: unknown): Uint8Array => fitted(bytesFrom(value, true), ADDRESS_BYTES)

/** The last 20 bytes of the hash of some parts. */
function hashedAddress(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (let i = 0; i < parts.length; i++) length += (parts[i] as Uint8Array).length
  const all = new Bytes(length)
  let at = 0
  for (let i = 0; i < parts.length; i++) {
    setAll(all, parts[i], at)
    at += (parts[i] as Uint8Array).length
  }
  return fitted(keccak256(all), ADDRESS_BYTES)
}

/** The RLP of an unsigned integer of 64 bits. */
function rlpOf(n: bigint): Uint8Array {
  if (n === 0n) return bytesOfHex('80')
  const bytes = bytesOfHex(n.toString(16))
  if (n < 128n) return bytes
  const out = new Bytes(bytes.length + 1)
  out[0] = 0x80 + bytes.length
  setAll(out, bytes, 1)
  return out
}

const one = (byte: number): Uint8Array => {
  const bytes = new Bytes(1)
  bytes[0] = byte
  return bytes
}

const FUNCTIONS = {
  toHex: (value: unknown): string => {
    const bytes = bytesFrom(value, false)
    return `0x${hexOf(bytes, bytes.length)}`
  },
  toWord: (value: unknown) => fitted(bytesFrom(value, true), WORD_BYTES),
  toAddress: (value: unknown) => addressOf(value),
  toContract: (from: unknown, nonce: unknown) => {
    const address = addressOf(from)
    const number = rlpOf(toUint64(nonce))
    return hashedAddress(one(0xc0 + 1 + ADDRESS_BYTES + number.length), one(0x80 + ADDRESS_BYTES), address, number)
  },
  toContract2: (from: unknown, salt: unknown, code: unknown) => {
    const address = addressOf(from)
    const text = salt === undefined || salt === null ? '' : Text(salt)
    const hash = keccak256(bytesFrom(code, true))
    return hashedAddress(one(0xff), address, fitted(bytesOfHex(text), WORD_BYTES), hash)
  },
  isPrecompiled: (value: unknown): boolean => {
    const address = hexOf(addressOf(value), ADDRESS_BYTES)
    for (let i = 0; i < precompiles.length; i++) if (precompiles[i] === address) return true
    return false
  },
  slice: (value: unknown, start: unknown, end: unknown) => {
    const bytes = bytesFrom(value, false)
    const from = toInt64(start)
    const to = toInt64(end)
    const length = bytes.length
    if (from < 0 || from > to || to > length) {
      interrupt(`Tracer accessed out of bound memory: available ${length}, offset ${decimal(from)}, size ${decimal(to - from)}`)
    }
    return copyOf(new Bytes(bytes.buffer, bytes.byteOffset + from, to - from))
  },
} as const

/** Names of what is put into the global scope. */
export const GLOBAL_NAMES: readonly string[] = [...Object.keys(FUNCTIONS), 'bigInt']

/** Names that go-ethereum's engine does not have, or that reach beyond the script. */
const ABSENT = ['console', 'WebAssembly', 'SharedArrayBuffer', 'Atomics', 'Intl', 'WeakRef', 'FinalizationRegistry']

/** Puts the functions into the global scope and takes out what must not be there. */
export function installGlobals(scope: object): void {
  for (const name of ABSENT) delete (scope as Record<string, unknown>)[name]
  // Newer engines have it. It runs code later, as only async functions and promises do otherwise.
  delete (Array as { fromAsync?: unknown }).fromAsync
  for (const [name, value] of Object.entries(FUNCTIONS)) {
    defineProperty(scope, name, { value, writable: true, enumerable: true, configurable: true })
  }
  defineProperty(scope, 'bigInt', {
    get: bigIntLibrary,
    set: (value: unknown) => {
      bigIntLibrary()
      ;(scope as { bigInt: unknown }).bigInt = value
    },
    enumerable: true,
    configurable: true,
  })
}
