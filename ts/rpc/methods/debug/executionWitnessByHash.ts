// debug_executionWitnessByHash: The witness of a block, by its hash.
import { hash, witnessMode } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const executionWitnessByHash = method({
  name: 'debug_executionWitnessByHash',
  doc: 'The witness of a block by its hash; see debug_executionWitness.',
  result: '`{state, codes, headers}`, sorted; also `keys: null` with `legacy`',
  cost: 'heavy',
  params: [required('hash', hash), optional('mode', witnessMode)],
  handle: ({ core }, hash, mode) => core.request('executionWitness', { block: { blockHash: hash }, legacy: mode === 'legacy' }),
})
