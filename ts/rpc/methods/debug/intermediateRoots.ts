// debug_intermediateRoots: State root after each transaction of a block.
import { hash, traceConfig } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const intermediateRoots = method({
  name: 'debug_intermediateRoots',
  doc: 'The state root after each transaction of a block. Needs the state of the parent in the history; a capsule is not enough.',
  result: 'hash[]',
  cost: 'heavy',
  params: [required('hash', hash), optional('config', traceConfig)],
  handle: ({ core }, hash) => core.request('intermediateRoots', { hash }),
})
