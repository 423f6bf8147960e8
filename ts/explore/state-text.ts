// What a transaction changed, as text: an account a paragraph.
import type { Names } from './names.ts'
import { printable } from './printable.ts'
import { type AccountChange, type RawDiff, stateChanges } from './state-diff.ts'
import { ether } from './text.ts'

/** The variable that lies in a slot of an account; undefined where it has no name. */
export type SlotName = (address: string, slot: string) => string | undefined

/** A word without the zeros before it. */
const short = (word: string): string => `0x${word.slice(2).replace(/^0+(?=.)/, '')}`

const codeText = (hex: string): string => (hex === '0x' ? 'none' : `${(hex.length - 2) / 2} bytes`)

/** A difference in wei with its sign. */
function moved(before: bigint, after: bigint): string {
  return after < before ? `-${ether(before - after)}` : `+${ether(after - before)}`
}

function accountText({ address, fate, balance, nonce, code, storage }: AccountChange, names: Names, slotName: SlotName): string[] {
  const label = names.address(address)
  // A label stands before the address, which is whole here: it is what a reader copies.
  const called = label.includes('(') ? ` ${label.slice(0, label.lastIndexOf('('))}` : ''
  const rows: string[] = []
  if (balance !== undefined)
    rows.push(`balance  ${ether(balance.before)} → ${ether(balance.after)}  (${moved(balance.before, balance.after)})`)
  if (nonce !== undefined) rows.push(`nonce    ${nonce.before} → ${nonce.after}`)
  if (code !== undefined) rows.push(`code     ${codeText(code.before)} → ${codeText(code.after)}`)
  for (const { slot, before, after } of storage) {
    const name = slotName(address, slot)
    rows.push(`storage  ${short(slot)}${name === undefined ? '' : ` ${printable(name)}`}: ${short(before)} → ${short(after)}`)
  }
  return [`${address}${called}${fate === 'changed' ? '' : `  ${fate}`}`, ...rows.map((row) => `  ${row}`)]
}

/** The accounts that changed, in the order of their addresses. */
export function stateText(diff: RawDiff, names: Names, slotName: SlotName = () => undefined): string[] {
  const changes = stateChanges(diff)
  return changes.length === 0 ? ['nothing changed'] : changes.flatMap((change) => accountText(change, names, slotName))
}
