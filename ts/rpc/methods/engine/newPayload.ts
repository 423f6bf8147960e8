// engine_newPayloadV1 to V4: executes a block, without moving the head (execution-apis,
// src/engine).
import { executionPayload, executionRequests, hash, hashes } from '../../codec/index.ts'
import { type Method, method, required } from '../../method.ts'

/** The method of a version without what stands beside the payload. */
const bare = (version: 1 | 2, forks: string): Method =>
  method({
    name: `engine_newPayloadV${version}`,
    doc: `Verifies and executes a block of ${forks}, and keeps it in memory until a fork choice names it: {status, latestValidHash, validationError}.`,
    result: '`{status, latestValidHash, validationError}`',
    cost: 'write',
    params: [required('executionPayload', executionPayload)],
    handle: ({ core }, payload) => core.request('engineNewPayload', { version, payload }),
  })

export const newPayloadV1 = bare(1, 'Paris')

export const newPayloadV2 = bare(2, 'Paris and Shanghai')

export const newPayloadV3 = method({
  name: 'engine_newPayloadV3',
  doc: 'As engine_newPayloadV1, for blocks of Cancun: with the hashes of the blobs that the transactions name, and the root of the beacon block before.',
  result: '`{status, latestValidHash, validationError}`',
  cost: 'write',
  params: [
    required('executionPayload', executionPayload),
    required('expectedBlobVersionedHashes', hashes),
    required('parentBeaconBlockRoot', hash),
  ],
  handle: ({ core }, payload, versionedHashes, parentBeaconBlockRoot) =>
    core.request('engineNewPayload', { version: 3, payload, versionedHashes, parentBeaconBlockRoot }),
})

export const newPayloadV4 = method({
  name: 'engine_newPayloadV4',
  doc: 'As engine_newPayloadV3, for blocks of Prague and Osaka: with the execution requests that the block must give (EIP-7685).',
  result: '`{status, latestValidHash, validationError}`',
  cost: 'write',
  params: [
    required('executionPayload', executionPayload),
    required('expectedBlobVersionedHashes', hashes),
    required('parentBeaconBlockRoot', hash),
    required('executionRequests', executionRequests),
  ],
  handle: ({ core }, payload, versionedHashes, parentBeaconBlockRoot, requests) =>
    core.request('engineNewPayload', { version: 4, payload, versionedHashes, parentBeaconBlockRoot, executionRequests: requests }),
})
