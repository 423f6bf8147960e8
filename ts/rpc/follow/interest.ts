// The subjects of filters and subscriptions, and the JSON bytes of their events.

import type { Core, Hex, JsonObject } from '../../core/port.ts'
import { readAs, readBytes } from '../../core/results.ts'
import type { ChainEvent } from './events.ts'

/** The interest of a listener. */
export type Interest =
  | { readonly kind: 'heads' }
  | { readonly kind: 'blocks' }
  | { readonly kind: 'logs'; readonly filter: JsonObject }
  | { readonly kind: 'transactions'; readonly full: boolean }
  /** Receipts of these transactions, in lower case; of all where there are none. */
  | { readonly kind: 'receipts'; readonly hashes: readonly string[] }

const encoder = new TextEncoder()

/** Interests with the same key get the same notifications. */
export const keyOf = (interest: Interest): string => JSON.stringify(interest)

/** A hash as the bytes of its JSON; the core gave it, so there is nothing to escape. */
const quoted = (hash: Hex): Uint8Array => encoder.encode(`"${hash}"`)

/** The lines of an answer, each the JSON of one value. */
function lines(bytes: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = []
  let from = 0
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, from)) {
    found.push(bytes.subarray(from, end))
    from = end + 1
  }
  return found
}

/** The receipts of a block, as far as they are looked at here. */
type Receipts = readonly { readonly transactionHash: string }[]

/** What was read and parsed for an event: once for all interests. */
export interface EventReads {
  receipts?: Promise<Receipts | null>
}

/** The receipts of a block as one notification; none where no transaction of it is meant. */
async function receiptsOf(core: Core, blockHash: Hex, hashes: readonly string[], reads: EventReads): Promise<readonly Uint8Array[]> {
  const block = { blockHash }
  if (hashes.length === 0) return [await readBytes(core, 'getBlockReceipts', { block })]
  reads.receipts ??= readAs<Receipts | null>(core, 'getBlockReceipts', { block })
  const wanted = new Set(hashes)
  const found = ((await reads.receipts) ?? []).filter(({ transactionHash }) => wanted.has(transactionHash))
  return found.length === 0 ? [] : [encoder.encode(JSON.stringify(found))]
}

/**
 * The notifications of an event for an interest, each the JSON bytes of one result. `reads` is one
 * object for all interests in an event.
 */
export async function notificationsOf(
  core: Core,
  interest: Interest,
  event: ChainEvent,
  reads: EventReads,
): Promise<readonly Uint8Array[]> {
  if (event[0] === 'transaction') {
    if (interest.kind !== 'transactions') return []
    return [interest.full ? await readBytes(core, 'pendingTransaction', { hash: event[1] }) : quoted(event[1])]
  }
  const [kind, , hash] = event
  if (interest.kind === 'logs') {
    return lines(await readBytes(core, 'blockLogs', { hash, filter: interest.filter, removed: kind === 'removed' }))
  }
  if (kind === 'removed') return []
  if (interest.kind === 'receipts') return event[3] === 0 ? [] : await receiptsOf(core, hash, interest.hashes, reads)
  if (interest.kind === 'heads') return [await readBytes(core, 'headNotice', { hash })]
  return interest.kind === 'blocks' ? [quoted(hash)] : []
}
