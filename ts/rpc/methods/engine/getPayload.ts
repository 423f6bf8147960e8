// engine_getPayloadV1 to V5: the block that was built under an id (execution-apis, src/engine).
import { payloadId } from '../../codec/index.ts'
import { type Method, method, required } from '../../method.ts'

const of = (version: 1 | 2 | 3 | 4 | 5, forks: string, what: string): Method =>
  method({
    name: `engine_getPayloadV${version}`,
    doc: `The block of ${forks} that was built under an id, as it is now; it is not built further: ${what}.`,
    result: version === 1 ? '`ExecutionPayload`' : '`{executionPayload, blockValue, …}`',
    cost: 'heavy',
    params: [required('payloadId', payloadId)],
    handle: ({ core }, id) => core.request('engineGetPayload', { version, id }),
  })

const WITH_BLOBS = '{executionPayload, blockValue, blobsBundle, shouldOverrideBuilder}'

export const getPayloadV1 = of(1, 'Paris', 'its payload')

export const getPayloadV2 = of(2, 'Paris and Shanghai', '{executionPayload, blockValue}')

export const getPayloadV3 = of(3, 'Cancun', WITH_BLOBS)

export const getPayloadV4 = of(4, 'Prague', `${WITH_BLOBS.slice(0, -1)}, executionRequests}`)

export const getPayloadV5 = of(5, 'Osaka', `${WITH_BLOBS.slice(0, -1)}, executionRequests}, with cell proofs (EIP-7594)`)
