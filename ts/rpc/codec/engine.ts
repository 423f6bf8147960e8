// Parameters of the Engine API (execution-apis, src/engine). The core checks which fields a version
// needs, since it knows the forks.
import type { Data, JsonObject } from '../../core/port.ts'
import { arrayOf, BadValue, type Codec, fields, word } from './codec.ts'
import { address, bytes, data, hash, uint64, uint256 } from './hex.ts'

/** Transactions, withdrawals or requests of one payload. */
const ENTRIES_MAX = 200_000

/**
 * Hashes in one request for blobs or bodies; the core has a lower limit, with a code of the Engine
 * API.
 */
const HASHES_MAX = 100_000

/** Names that a consensus client may list. */
const NAMES_MAX = 1000

const BLOOM_BYTES = 256
const ID_BYTES = 8

/** An object of which some fields must be there. */
function withFields(shape: Readonly<Record<string, Codec<unknown>>>, names: readonly string[]): Codec<JsonObject> {
  const read = fields(shape)
  return (value) => {
    const found = read(value)
    const missing = names.find((name) => found[name] === undefined)
    if (missing !== undefined) throw new BadValue(`missing required field '${missing}'`)
    return found
  }
}

const OF_WITHDRAWAL = { index: uint64, validatorIndex: uint64, address, amount: uint64 } as const

const withdrawals = arrayOf(withFields(OF_WITHDRAWAL, Object.keys(OF_WITHDRAWAL)), ENTRIES_MAX)

const OF_PARIS = {
  parentHash: hash,
  feeRecipient: address,
  stateRoot: hash,
  receiptsRoot: hash,
  logsBloom: bytes(BLOOM_BYTES),
  prevRandao: hash,
  blockNumber: uint64,
  gasLimit: uint64,
  gasUsed: uint64,
  timestamp: uint64,
  extraData: data,
  baseFeePerGas: uint256,
  blockHash: hash,
  transactions: arrayOf(data, ENTRIES_MAX),
} as const

/** ExecutionPayloadV1 to V3. */
export const executionPayload = withFields({ ...OF_PARIS, withdrawals, blobGasUsed: uint64, excessBlobGas: uint64 }, Object.keys(OF_PARIS))

/** PayloadAttributesV1 to V3. */
export const engineAttributes = withFields(
  { timestamp: uint64, prevRandao: hash, suggestedFeeRecipient: address, withdrawals, parentBeaconBlockRoot: hash },
  ['timestamp', 'prevRandao', 'suggestedFeeRecipient'],
)

const OF_STATE = { headBlockHash: hash, safeBlockHash: hash, finalizedBlockHash: hash } as const

/** ForkchoiceStateV1. */
export const forkchoiceState = withFields(OF_STATE, Object.keys(OF_STATE))

/** An id of a payload that is built. */
export const payloadId = bytes(ID_BYTES)

/** Hashes of blobs or blocks. */
export const hashes: Codec<string[]> = arrayOf(hash, HASHES_MAX)

/** Names of the methods that a consensus client has. */
export const clientMethods: Codec<string[]> = arrayOf(word, NAMES_MAX)

/** Execution requests (EIP-7685). */
export const executionRequests: Codec<Data[]> = arrayOf(data, ENTRIES_MAX)
