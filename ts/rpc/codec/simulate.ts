// What eth_simulateV1 takes: blocks of calls, and how they are built.
import type { JsonObject } from '../../core/port.ts'
import { blockOverrides, stateOverrides, transaction } from './call.ts'
import { arrayOf, boolean, type Codec, fields } from './codec.ts'

/**
 * Most blocks of one request, and most calls of one block, that are parsed; the core's own limits
 * are lower.
 */
const ENTRIES_MAX = 100_000

/** What eth_simulateV1 takes. */
export interface Simulation extends JsonObject {
  readonly blockStateCalls?: readonly { readonly stateOverrides?: Record<string, unknown> }[]
}

const block = fields({ blockOverrides, stateOverrides, calls: arrayOf(transaction, ENTRIES_MAX) })

/** The first parameter of eth_simulateV1. */
export const simulation: Codec<Simulation> = fields({
  blockStateCalls: arrayOf(block, ENTRIES_MAX),
  traceTransfers: boolean,
  validation: boolean,
  returnFullTransactions: boolean,
})
