// debug_intermediateRoots: State root after each transaction of a block.
import { hash, traceConfig } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const intermediateRoots = method({
  name: 'debug_intermediateRoots',
  doc: 'State root after each transaction of a block. It needs the kept state of the parent: a capsule has no whole state to make roots of.',
  cost: 'heavy',
  params: [required('hash', hash), optional('config', traceConfig)],
  handle: ({ core }, hash) => core.request('intermediateRoots', { hash }),
})
