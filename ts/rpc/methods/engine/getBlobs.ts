// engine_getBlobsV1 to V3: blobs of pending transactions (execution-apis, src/engine/cancun.md and
// osaka.md).
import { hashes } from '../../codec/index.ts'
import { type Method, method, required } from '../../method.ts'

const of = (version: 1 | 2 | 3, what: string): Method =>
  method({
    name: `engine_getBlobsV${version}`,
    doc: `Blobs of waiting transactions by their versioned hashes, at most 128, ${what}.`,
    result: 'blobs with proofs, `null` for unknown ones',
    cost: 'heavy',
    params: [required('versionedHashes', hashes)],
    handle: ({ core }, asked) => core.request('engineGetBlobs', { version, hashes: asked }),
  })

export const getBlobsV1 = of(1, 'each {blob, proof} or null; before Osaka')

export const getBlobsV2 = of(2, 'each {blob, proofs} with cell proofs; null where one of them is not there')

export const getBlobsV3 = of(3, 'each {blob, proofs} with cell proofs, or null')
