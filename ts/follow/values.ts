// Values of JSON-RPC as they come from another node: nothing about them is taken for granted.
import { foreignText } from '../peers/words.ts'

/** 32 bytes in hex. */
const HASH = /^0x[0-9a-f]{64}$/

/** 20 bytes in hex. */
const ADDRESS = /^0x[0-9a-f]{40}$/

const QUANTITY = /^0x[0-9a-f]+$/

/** An answer that is not what the method returns. */
export class BadAnswer extends Error {
  override name = 'BadAnswer'
}

/** Beginning of a value, for a message. */
const shown = (value: unknown): string => foreignText((JSON.stringify(value) ?? 'nothing').slice(0, 80))

const lower = (value: unknown): string => (typeof value === 'string' ? value.toLowerCase() : '')

/** A hash in lower case. */
export function hashOf(value: unknown, what: string): string {
  const hash = lower(value)
  if (!HASH.test(hash)) throw new BadAnswer(`${what} is no hash: ${shown(value)}`)
  return hash
}

/** An address in lower case. */
export function addressOf(value: unknown, what: string): string {
  const address = lower(value)
  if (!ADDRESS.test(address)) throw new BadAnswer(`${what} is no address: ${shown(value)}`)
  return address
}

/** A quantity as a number. */
export function numberOf(value: unknown, what: string): number {
  const number = QUANTITY.test(lower(value)) ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new BadAnswer(`${what} is no number: ${shown(value)}`)
  return number
}

/** A number as JSON-RPC writes it. */
export const quantity = (number: number): string => `0x${number.toString(16)}`

/** A slot as 32 bytes in hex. */
export const wholeSlot = (slot: string): string => `0x${slot.slice(2).toLowerCase().padStart(64, '0')}`

/** An object; throws where a value is none. */
export function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BadAnswer(`${what} is no object: ${shown(value)}`)
  return value as Readonly<Record<string, unknown>>
}
