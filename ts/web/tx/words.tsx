// Words of 32 bytes as they are read best.
import type { JSX } from 'preact'
import { groupedBig } from '../parts/format.ts'

/** Numbers up to here are shown in decimal too. */
const DECIMAL_MAX = 10n ** 30n

/**
 * A word without its leading zeros; the whole one, and what it is as a number, beside the pointer.
 */
export function Word({ word, decimal = true }: { readonly word: string; readonly decimal?: boolean }): JSX.Element {
  const n = BigInt(word)
  const short = `0x${n.toString(16)}`
  const isSmall = n <= DECIMAL_MAX
  return (
    <span title={word}>
      {n === 0n ? (
        <span class="faint">0</span>
      ) : n < 10n ? (
        String(n)
      ) : short.length > 22 ? (
        `${short.slice(0, 12)}…${short.slice(-8)}`
      ) : (
        short
      )}
      {decimal && n >= 10n && isSmall && <span class="faint"> = {groupedBig(n)}</span>}
    </span>
  )
}
