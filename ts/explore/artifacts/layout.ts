// Names of slots by a storage layout (Solidity documentation, "Layout of State Variables in
// Storage"): packed variables, structs, arrays, and mappings by the hashes that a transaction
// computed.
import { Hash } from 'ox'
import type { Preimages } from '../slots.ts'
import { countOf, entriesOf, memberOf, textOf } from './json.ts'
import type { Layout, LayoutEntry, LayoutType } from './types.ts'

/** Mappings, arrays and structs within each other that are followed. */
const DEPTH_MAX = 32

/** Types of a layout that are read. */
const TYPES_MAX = 20_000

/** Slots behind the beginning of what a hash stands for. */
const BEHIND_MAX = 1n << 64n

/** Hex digits and bytes of a word. */
const [WORD, WORD_BYTES] = [64, 32]

/** Slots from this number on are hashes, not slots of variables. */
const VARIABLES_MAX = 1n << 64n

/** A variable, or a part of one, that lies in a slot. */
export interface SlotPart {
  /** `balances[0xab…]`, `account.shares`. */
  readonly name: string
  /** As Solidity writes it. */
  readonly type: string
  /** Where it lies in the slot: bytes from its lower end. */
  readonly offset: number
  readonly bytes: number
}

const entryOf = (value: unknown): LayoutEntry | undefined => {
  const [label, type, slot, offset] = [
    textOf(memberOf(value, 'label')),
    textOf(memberOf(value, 'type')),
    textOf(memberOf(value, 'slot')),
    countOf(memberOf(value, 'offset')),
  ]
  if (label === undefined || type === undefined || slot === undefined || offset === undefined || offset >= WORD_BYTES) return undefined
  return /^\d{1,78}$/.test(slot) ? { label, type, slot: BigInt(slot), offset } : undefined
}

const entriesIn = (value: unknown): LayoutEntry[] => (Array.isArray(value) ? value.flatMap((entry) => entryOf(entry) ?? []) : [])

/** Reads a `storageLayout`; undefined where there is none. */
export function readLayout(value: unknown): Layout | undefined {
  const storage = entriesIn(memberOf(value, 'storage'))
  if (storage.length === 0) return undefined
  const types = new Map<string, LayoutType>()
  for (const [name, type] of entriesOf(memberOf(value, 'types')).slice(0, TYPES_MAX)) {
    const bytes = countOf(memberOf(type, 'numberOfBytes'))
    if (bytes === undefined || bytes === 0) continue
    types.set(name, {
      encoding: textOf(memberOf(type, 'encoding')) ?? 'inplace',
      label: textOf(memberOf(type, 'label')) ?? name,
      bytes,
      key: textOf(memberOf(type, 'key')),
      value: textOf(memberOf(type, 'value')),
      base: textOf(memberOf(type, 'base')),
      members: entriesIn(memberOf(type, 'members')),
    })
  }
  return { storage, types }
}

/** A layout as `readLayout` reads it, for sending it on. */
export function layoutJson({ storage, types }: Layout): unknown {
  const entry = ({ label, offset, slot, type }: LayoutEntry): unknown => ({ label, offset, slot: slot.toString(), type })
  const rows = [...types].map(([name, { bytes, members, ...rest }]) => [
    name,
    { ...rest, numberOfBytes: String(bytes), members: members.map(entry) },
  ])
  return { storage: storage.map(entry), types: Object.fromEntries(rows) }
}

/** What begins at a slot. */
interface Variable {
  readonly name: string
  readonly type: LayoutType
  readonly slot: bigint
  readonly offset: number
}

const slotsOf = ({ bytes }: LayoutType): bigint => BigInt(Math.ceil(bytes / WORD_BYTES))

/** Variables whose hashes are computed here. */
const FIXED_MAX = 2000

/**
 * The hashes behind which arrays and long bytes at fixed slots lie: the optimizer computes them, so
 * that no transaction does.
 */
function fixedHashes({ storage, types }: Layout): Map<string, string> {
  const hashes = new Map<string, string>()
  const waiting = storage.map(({ slot, type }) => ({ slot, type }))
  for (let next = waiting.pop(); next !== undefined && hashes.size < FIXED_MAX; next = waiting.pop()) {
    const type = types.get(next.type)
    const { slot } = next
    for (const member of type?.members ?? []) waiting.push({ slot: slot + member.slot, type: member.type })
    if (waiting.length > FIXED_MAX) break
    if (type?.encoding !== 'dynamic_array' && type?.encoding !== 'bytes') continue
    const preimage = `0x${slot.toString(16).padStart(WORD, '0')}` as const
    hashes.set(Hash.keccak256(preimage), preimage)
  }
  return hashes
}

/** The parts of one slot, by a layout and the hashes of a transaction. */
export class SlotNames {
  private readonly layout: Layout
  /** Hashes with what was hashed, in order. */
  private readonly hashes: readonly (readonly [hash: bigint, preimage: string])[]

  constructor(layout: Layout, preimages: Preimages) {
    this.layout = layout
    const all = new Map([...fixedHashes(layout), ...preimages])
    this.hashes = [...all].map(([hash, preimage]) => [BigInt(hash), preimage.slice(2)] as const).sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /** What lies in a slot, the lowest bytes first; nothing where the layout does not explain it. */
  parts(slot: string | bigint): SlotPart[] {
    return this.variables(BigInt(slot), 0).map(({ name, type, offset }) => ({
      name,
      type: type.label,
      offset,
      bytes: Math.min(type.bytes, WORD_BYTES - offset),
    }))
  }

  /** Variables of simple types that lie in a slot, and mappings and arrays that begin there. */
  private variables(slot: bigint, depth: number): Variable[] {
    if (depth > DEPTH_MAX) return []
    if (slot < VARIABLES_MAX) return this.layout.storage.flatMap((entry) => this.inside(this.variable(entry, '', 0n), slot, depth))
    const found = this.hashBefore(slot)
    if (found === undefined) return []
    const { hash, preimage } = found
    if (preimage.length < WORD) return []
    const base = BigInt(`0x${preimage.slice(-WORD)}`)
    const key = preimage.slice(0, -WORD)
    return this.variables(base, depth + 1).flatMap((variable) => this.behind(variable, key, hash, slot, depth))
  }

  private variable({ label, type, slot, offset }: LayoutEntry, prefix: string, base: bigint): Variable | undefined {
    const known = this.layout.types.get(type)
    return known === undefined ? undefined : { name: `${prefix}${label}`, type: known, slot: base + slot, offset }
  }

  /** Looks into structs and arrays of fixed size. */
  private inside(variable: Variable | undefined, slot: bigint, depth: number): Variable[] {
    if (variable === undefined || depth > DEPTH_MAX || slot < variable.slot || slot >= variable.slot + slotsOf(variable.type)) return []
    const { name, type } = variable
    if (type.members.length > 0)
      return type.members.flatMap((member) => this.inside(this.variable(member, `${name}.`, variable.slot), slot, depth + 1))
    if (type.encoding === 'inplace' && type.base !== undefined) return this.elements(variable, slot, depth)
    return [variable]
  }

  /** Elements of an array, which begins at the variable's slot, that lie in a slot. */
  private elements({ name, type, slot: first }: Variable, slot: bigint, depth: number): Variable[] {
    const base = this.layout.types.get(type.base ?? '')
    if (base === undefined) return []
    const each = base.bytes > WORD_BYTES / 2 ? slotsOf(base) : 0n
    if (each > 0n) {
      const i = (slot - first) / each
      return this.inside({ name: `${name}[${i}]`, type: base, slot: first + i * each, offset: 0 }, slot, depth + 1)
    }
    const inSlot = Math.floor(WORD_BYTES / base.bytes)
    return Array.from({ length: inSlot }, (_, n) => ({
      name: `${name}[${(slot - first) * BigInt(inSlot) + BigInt(n)}]`,
      type: base,
      slot,
      offset: n * base.bytes,
    }))
  }

  /**
   * What lies behind the hash of a variable: a mapping's value, an array's elements, long bytes.
   */
  private behind({ name, type }: Variable, key: string, hash: bigint, slot: bigint, depth: number): Variable[] {
    if (type.encoding === 'mapping') {
      const value = this.layout.types.get(type.value ?? '')
      if (value === undefined || key === '') return []
      const shown = keyText(key, this.layout.types.get(type.key ?? ''))
      return this.inside({ name: `${name}[${shown}]`, type: value, slot: hash, offset: 0 }, slot, depth + 1)
    }
    if (key !== '') return []
    if (type.encoding === 'dynamic_array') return this.elements({ name, type, slot: hash, offset: 0 }, slot, depth + 1)
    if (type.encoding !== 'bytes') return []
    const from = (slot - hash) * BigInt(WORD_BYTES)
    const part: LayoutType = { ...type, label: 'bytes32', encoding: 'inplace', bytes: WORD_BYTES }
    return [{ name: `${name} (bytes from ${from})`, type: part, slot, offset: 0 }]
  }

  /** The hash that is the nearest at or before a slot. */
  private hashBefore(slot: bigint): { hash: bigint; preimage: string } | undefined {
    let [low, high] = [0, this.hashes.length - 1]
    if (high < 0 || (this.hashes[0] as readonly [bigint, string])[0] > slot) return undefined
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.hashes[middle] as readonly [bigint, string])[0] <= slot) low = middle
      else high = middle - 1
    }
    const [hash, preimage] = this.hashes[low] as readonly [bigint, string]
    return slot - hash < BEHIND_MAX ? { hash, preimage } : undefined
  }
}

/** A key of a mapping in hex digits. */
function keyText(key: string, type: LayoutType | undefined): string {
  const label = type?.label ?? ''
  if (type?.encoding === 'bytes') return label === 'string' ? JSON.stringify(utf8(key)) : `0x${key}`
  return valueText(key.padStart(WORD, '0'), label)
}

function utf8(hex: string): string {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
  return new TextDecoder().decode(bytes)
}

/** A word of a simple type, its value at the lower end. */
function valueText(word: string, type: string): string {
  const n = BigInt(`0x${word}`)
  if (/^(address|contract )/.test(type)) return `0x${word.slice(-40)}`
  if (type === 'bool') return n === 0n ? 'false' : n === 1n ? 'true' : `0x${n.toString(16)}`
  if (/^int\d*$/.test(type)) return String(BigInt.asIntN(Number(type.slice(3) || '256'), n))
  if (/^(uint\d*|enum )/.test(type)) return n.toString()
  return `0x${word}`
}

/** The value of a part in a slot's word, `0x` and 64 digits. */
export function partValue({ type, offset, bytes }: SlotPart, word: string): string {
  const digits = word.slice(2).padStart(WORD, '0')
  const end = WORD - 2 * offset
  const own = digits.slice(Math.max(0, end - 2 * bytes), end)
  const bytesN = /^bytes(\d+)$/.exec(type)
  if (bytesN !== null) return `0x${own}`
  if (type === 'string' || type === 'bytes') return shortBytes(digits, type)
  return valueText(own.padStart(WORD, '0'), type)
}

/** Bytes of up to 31 lie in the slot itself; of longer ones the slot has their length. */
function shortBytes(digits: string, type: string): string {
  const last = Number.parseInt(digits.slice(-2), 16)
  if (last % 2 === 1) return `${(BigInt(`0x${digits}`) - 1n) / 2n} bytes`
  const own = digits.slice(0, Math.min(62, last))
  return type === 'string' ? JSON.stringify(utf8(own)) : `0x${own}`
}
