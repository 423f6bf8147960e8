// The methods of the Engine API, served only on the listener of `engine.port`, and the list of
// those that a consensus client may know.
import type { Method } from '../../method.ts'
import { forkchoiceUpdatedV1, forkchoiceUpdatedV2, forkchoiceUpdatedV3 } from './forkchoiceUpdated.ts'
import { getBlobsV1, getBlobsV2, getBlobsV3 } from './getBlobs.ts'
import { getPayloadV1, getPayloadV2, getPayloadV3, getPayloadV4, getPayloadV5 } from './getPayload.ts'
import { getPayloadBodiesByHashV1, getPayloadBodiesByRangeV1 } from './getPayloadBodies.ts'
import { exchangeCapabilities, getClientVersionV1 } from './identity.ts'
import { newPayloadV1, newPayloadV2, newPayloadV3, newPayloadV4 } from './newPayload.ts'

const named: readonly Method[] = [
  newPayloadV1,
  newPayloadV2,
  newPayloadV3,
  newPayloadV4,
  forkchoiceUpdatedV1,
  forkchoiceUpdatedV2,
  forkchoiceUpdatedV3,
  getPayloadV1,
  getPayloadV2,
  getPayloadV3,
  getPayloadV4,
  getPayloadV5,
  getBlobsV1,
  getBlobsV2,
  getBlobsV3,
  getPayloadBodiesByHashV1,
  getPayloadBodiesByRangeV1,
  getClientVersionV1,
]

/** Every method of the namespace engine. */
export const ENGINE_METHODS: readonly Method[] = [...named, exchangeCapabilities(named.map((m) => m.name))]

/** The namespaces of the engine listener. */
export const ENGINE_NAMESPACES: readonly string[] = ['engine', 'eth']

/** The methods of eth that consensus clients use there (execution-apis, src/engine/common.md). */
const OF_ETH: readonly string[] = [
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getCode',
  'eth_getLogs',
  'eth_sendRawTransaction',
  'eth_syncing',
]

/** The names of all methods that the engine listener has. */
export const ENGINE_LISTENER_METHODS: ReadonlySet<string> = new Set([...ENGINE_METHODS.map((m) => m.name), ...OF_ETH])
