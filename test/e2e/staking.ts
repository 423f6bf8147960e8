// The staking contract for tests: its files, and the storage that genesis validators become (crates/cosmos/contract).
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { type Abi, concat, type Hex, hexToBigInt, keccak256, numberToHex, pad, stringToHex } from 'viem'
import { ROOT } from './harness.ts'

const FOLDER = path.join(ROOT, 'crates/cosmos/contract')

export const STAKING: Hex = '0x0000000000000000000000000000000000000800'
/** The caller of `begin` and `end` (EIP-4788). */
export const SYSTEM: Hex = '0xfffffffffffffffffffffffffffffffffffffffe'
export const stakingFile = (name: string): string => fs.readFileSync(path.join(FOLDER, name), 'utf8')
export const stakingAbi = (): Abi => JSON.parse(stakingFile('Staking.abi.json'))
export const stakingCode = (): Hex => `0x${stakingFile('Staking.bin-runtime').trim()}`

/** A validator of a genesis; `power` in units of 1e18 wei. */
export interface GenesisValidator {
  readonly operator: Hex
  readonly key: Hex
  readonly power: number
  readonly moniker: string
}

const word = (value: bigint): Hex => numberToHex(value, { size: 32 })
const mapped = (key: Hex, slot: bigint): bigint => hexToBigInt(keccak256(concat([pad(key), word(slot)])))
const elements = (slot: bigint): bigint => hexToBigInt(keccak256(word(slot)))

/** The consensus address of an ed25519 key: the first 20 bytes of its SHA-256. */
export const consensusAddress = (key: Hex): Hex =>
  `0x${createHash('sha256')
    .update(Buffer.from(key.slice(2), 'hex'))
    .digest('hex')
    .slice(0, 40)}`

/** Storage and balance of the contract at a genesis. */
export function genesisStorage(
  validators: readonly GenesisValidator[],
  unbondingSeconds: number,
): { readonly balance: Hex; readonly storage: Record<Hex, Hex> } {
  const storage: Record<Hex, Hex> = {}
  const put = (slot: bigint, value: bigint): void => {
    storage[word(slot)] = word(value)
  }
  const list = (slot: bigint, addresses: readonly Hex[]): void => {
    put(slot, BigInt(addresses.length))
    for (const [i, address] of addresses.entries()) put(elements(slot) + BigInt(i), hexToBigInt(address))
  }
  const tokens = (v: GenesisValidator): bigint => BigInt(v.power) * 10n ** 18n
  const total = validators.reduce((sum, v) => sum + tokens(v), 0n)
  put(0n, BigInt(unbondingSeconds) | (100n << 64n))
  put(1n, total)
  list(
    4n,
    validators.map((v) => v.operator),
  )
  const active = [...validators].sort((a, b) => a.power - b.power || (hexToBigInt(a.operator) < hexToBigInt(b.operator) ? 1 : -1))
  list(
    5n,
    active.map((v) => v.operator),
  )
  for (const v of validators) {
    const record = mapped(v.operator, 2n)
    put(record, hexToBigInt(v.key))
    put(record + 1n, tokens(v) | (tokens(v) << 128n))
    put(record + 2n, BigInt(v.power) | (BigInt(active.indexOf(v) + 1) << 64n) | (1n << 96n))
    const text = Buffer.from(v.moniker)
    if (text.length > 31) throw new Error('the moniker of a test is at most 31 bytes')
    put(record + 5n, hexToBigInt(pad(stringToHex(v.moniker), { dir: 'right' })) | BigInt(2 * text.length))
    put(mapped(consensusAddress(v.key), 3n), hexToBigInt(v.operator))
    put(hexToBigInt(keccak256(concat([pad(v.operator), word(mapped(v.operator, 8n))]))), tokens(v) | (1n << 128n) | (1n << 184n))
    list(mapped(v.operator, 9n), [v.operator])
    list(mapped(v.operator, 10n), [v.operator])
  }
  return { balance: numberToHex(total), storage }
}
