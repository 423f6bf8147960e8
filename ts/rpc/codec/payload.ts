// What testing_buildBlockV1 takes (execution-apis: PayloadAttributesV3).
import type { Data, JsonObject } from '../../core/port.ts'
import { withdrawal } from './call.ts'
import { arrayOf, BadValue, type Codec, fields } from './codec.ts'
import { address, data, hash, uint64 } from './hex.ts'

/** Withdrawals, or transactions, of one block: a body of 5 MiB cannot hold many more. */
const ENTRIES_MAX = 100_000

const shape = fields({
  timestamp: uint64,
  prevRandao: hash,
  suggestedFeeRecipient: address,
  withdrawals: arrayOf(withdrawal, ENTRIES_MAX),
  parentBeaconBlockRoot: hash,
})

const REQUIRED = ['timestamp', 'prevRandao', 'suggestedFeeRecipient'] as const

/** What the maker of a block decides. */
export const payloadAttributes: Codec<JsonObject> = (value) => {
  const found = shape(value)
  for (const name of REQUIRED) {
    if (found[name] === undefined) throw new BadValue(`missing required field '${name}' for PayloadAttributes`)
  }
  return found
}

/** Signed transactions. */
export const rawTransactions: Codec<Data[]> = arrayOf(data, ENTRIES_MAX)
