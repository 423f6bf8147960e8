// Overrides of state and block as a command line writes them, one at a time.
import { amountOf, BadWhatIf } from './what-if.ts'

type Fields = Readonly<Record<string, unknown>>

/** Hex digits of a slot. */
const SLOT_DIGITS = 64

const quoted = (text: string): string => JSON.stringify(text.slice(0, 80))

function wordOf(text: string, what: string): string {
  const hex = amountOf(text, what).slice(2)
  if (hex.length > SLOT_DIGITS) throw new BadWhatIf(`${what} takes a word of 32 bytes`)
  return `0x${hex.padStart(SLOT_DIGITS, '0')}`
}

/**
 * Adds `ADDRESS.balance=…`, `.nonce=…`, `.code=0x…` or `.slot[KEY]=…` to overrides of state.
 * `codeOf` reads the file of `.code=@FILE`. Throws `BadWhatIf`.
 */
export function withStateOverride(before: Fields | undefined, text: string, codeOf: (file: string) => string): Fields {
  const [, given = '', field = '', key, value = ''] =
    /^(0x[0-9a-fA-F]{40})\.(balance|nonce|code|slot)(?:\[([^\]]+)\])?=(.*)$/s.exec(text) ?? []
  if (field === '' || (field === 'slot') !== (key !== undefined))
    throw new BadWhatIf(
      `an override is ADDRESS.balance=AMOUNT, ADDRESS.nonce=N, ADDRESS.code=0x… or @FILE, or ADDRESS.slot[KEY]=VALUE, not ${quoted(text)}`,
    )
  const address = given.toLowerCase()
  const all = before ?? {}
  const account = (all[address] ?? {}) as Fields
  if (field === 'slot') {
    const slots = { ...(account.stateDiff as Fields | undefined), [wordOf(key as string, 'slot')]: wordOf(value, 'slot') }
    return { ...all, [address]: { ...account, stateDiff: slots } }
  }
  if (field !== 'code') return { ...all, [address]: { ...account, [field]: amountOf(value, field) } }
  const code = (value.startsWith('@') ? codeOf(value.slice(1)) : value).trim()
  if (!/^0x([0-9a-fA-F]{2})*$/.test(code)) throw new BadWhatIf(`code takes bytes in hex behind 0x, or a file of them behind @`)
  return { ...all, [address]: { ...account, code } }
}

/** Fields of a block that are amounts, and those that are not. */
const AMOUNTS = ['number', 'time', 'gasLimit', 'baseFeePerGas', 'blobBaseFee', 'difficulty']
const HEX: Readonly<Record<string, RegExp>> = { feeRecipient: /^0x[0-9a-fA-F]{40}$/, prevRandao: /^0x[0-9a-fA-F]{64}$/ }

/** Adds `FIELD=VALUE` to overrides of the block. Throws `BadWhatIf`. */
export function withBlockOverride(before: Fields | undefined, text: string): Fields {
  const at = text.indexOf('=')
  const [field, value] = [text.slice(0, Math.max(0, at)), text.slice(at + 1)]
  if (AMOUNTS.includes(field)) return { ...before, [field]: amountOf(value, field) }
  const pattern = Object.hasOwn(HEX, field) ? HEX[field] : undefined
  if (pattern === undefined)
    throw new BadWhatIf(`a block override is ${[...AMOUNTS, ...Object.keys(HEX)].join('=, ')}= with a value, not ${quoted(text)}`)
  if (!pattern.test(value)) throw new BadWhatIf(`${field} takes ${field === 'feeRecipient' ? 'an address' : '32 bytes in hex'} behind 0x`)
  return { ...before, [field]: value.toLowerCase() }
}
