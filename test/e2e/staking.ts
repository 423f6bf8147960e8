// The staking contract for tests: its files, and the storage that genesis validators become
// (crates/cosmos/contract).
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

/** Slot of a delegation: `stakes[delegator][operator]`. */
const stakeSlot = (delegator: Hex, operator: Hex): bigint => hexToBigInt(keccak256(concat([pad(operator), word(mapped(delegator, 8n))])))

/** The consensus address of an ed25519 key: the first 20 bytes of its SHA-256. */
export const consensusAddress = (key: Hex): Hex =>
  `0x${createHash('sha256')
    .update(Buffer.from(key.slice(2), 'hex'))
    .digest('hex')
    .slice(0, 40)}`

/** Validators that can have power at a time. */
const ACTIVE_MAX = 100

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
  put(0n, BigInt(unbondingSeconds) | (BigInt(ACTIVE_MAX) << 64n))
  put(1n, total)
  list(
    4n,
    validators.map((v) => v.operator),
  )
  const active = [...validators]
    .slice(-ACTIVE_MAX)
    .sort((a, b) => a.power - b.power || (hexToBigInt(a.operator) < hexToBigInt(b.operator) ? 1 : -1))
  list(
    5n,
    active.map((v) => v.operator),
  )
  for (const v of validators) {
    const record = mapped(v.operator, 2n)
    put(record, hexToBigInt(v.key))
    put(record + 1n, tokens(v) | (tokens(v) << 128n))
    const place = BigInt(active.indexOf(v) + 1)
    put(record + 2n, place === 0n ? 0n : BigInt(v.power) | (place << 64n) | (1n << 96n))
    const text = Buffer.from(v.moniker)
    if (text.length > 31) throw new Error('the moniker of a test is at most 31 bytes')
    put(record + 5n, hexToBigInt(pad(stringToHex(v.moniker), { dir: 'right' })) | BigInt(2 * text.length))
    put(mapped(consensusAddress(v.key), 3n), hexToBigInt(v.operator))
    put(stakeSlot(v.operator, v.operator), tokens(v) | (1n << 128n) | (1n << 184n))
    list(mapped(v.operator, 9n), [v.operator])
    list(mapped(v.operator, 10n), [v.operator])
  }
  return { balance: numberToHex(total), storage }
}

/** An unbonding of a crowded contract. */
export interface QueuedUnbonding {
  readonly delegator: Hex
  readonly operator: Hex
  readonly gwei: bigint
}

/**
 * Puts unbondings into the storage of a genesis; they began in block 1 and are due at `time`. The
 * first `cancelled` entries of the queue are empty, as cancelled unbondings leave them.
 */
export function queueUnbondings(storage: Record<Hex, Hex>, entries: readonly QueuedUnbonding[], time: bigint, cancelled: number): void {
  const put = (slot: bigint, value: bigint): void => {
    storage[word(slot)] = word(value)
  }
  const of = { delegator: new Map<Hex, bigint[]>(), validator: new Map<Hex, bigint[]>() }
  const placed = (lists: Map<Hex, bigint[]>, key: Hex, id: bigint): bigint => {
    const list = lists.get(key) ?? []
    lists.set(key, list)
    return BigInt(list.push(id))
  }
  for (const [i, { delegator, operator, gwei }] of entries.entries()) {
    const id = BigInt(i + cancelled)
    const entry = mapped(word(id), 11n)
    put(entry, hexToBigInt(delegator) | (1n << 160n))
    put(entry + 1n, hexToBigInt(operator) | (time << 160n))
    const places = (placed(of.delegator, delegator, id) << 128n) | (placed(of.validator, operator, id) << 192n)
    put(entry + 2n, gwei | (gwei << 64n) | places)
    put(stakeSlot(delegator, operator), 1n << 240n)
  }
  for (const [slot, lists] of [[12n, of.delegator] as const, [13n, of.validator] as const]) {
    for (const [key, ids] of lists) {
      const list = mapped(key, slot)
      put(list, BigInt(ids.length))
      // Four numbers of 64 bits a word.
      for (let at = 0; at < ids.length; at += 4) {
        const packed = ids.slice(at, at + 4).reduce((sum, id, n) => sum | (id << BigInt(64 * n)), 0n)
        put(elements(list) + BigInt(at / 4), packed)
      }
    }
  }
  put(0n, hexToBigInt(storage[word(0n)] as Hex) | (BigInt(cancelled + entries.length) << 160n))
  const total = entries.reduce((sum, { gwei }) => sum + gwei, 0n)
  put(1n, hexToBigInt(storage[word(1n)] as Hex) | (total << 128n))
}

/**
 * Marks validators as changed in a block whose end is still to come; `powers` is what CometBFT has
 * of each.
 */
export function markChanged(storage: Record<Hex, Hex>, operators: readonly Hex[], powers: readonly bigint[]): void {
  storage[word(7n)] = word(BigInt(operators.length))
  for (const [i, operator] of operators.entries()) {
    storage[word(elements(7n) + BigInt(i))] = pad(operator)
    const record = word(mapped(operator, 2n) + 2n)
    const now = hexToBigInt(storage[record] as Hex)
    storage[record] = word(((now >> 64n) << 64n) | (powers[i] as bigint) | (1n << 120n))
  }
}
