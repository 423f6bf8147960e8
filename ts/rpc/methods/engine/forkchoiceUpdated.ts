// engine_forkchoiceUpdatedV1 to V3: moves the head, and starts a payload on it (execution-apis,
// src/engine).
import { engineAttributes, forkchoiceState } from '../../codec/index.ts'
import { type Method, method, optional, required } from '../../method.ts'

const of = (version: 1 | 2 | 3, forks: string): Method =>
  method({
    name: `engine_forkchoiceUpdatedV${version}`,
    doc: `Makes an executed block the head, notes which blocks are safe and finalized, and begins to build a block of ${forks} on it where there are attributes: {payloadStatus, payloadId}.`,
    result: '`{payloadStatus, payloadId}`',
    cost: 'write',
    params: [required('forkchoiceState', forkchoiceState), optional('payloadAttributes', engineAttributes)],
    handle: ({ core }, state, attributes) => core.request('engineForkchoiceUpdated', { version, state, attributes }),
  })

export const forkchoiceUpdatedV1 = of(1, 'Paris')

export const forkchoiceUpdatedV2 = of(2, 'Paris or Shanghai')

export const forkchoiceUpdatedV3 = of(3, 'Cancun or later')
