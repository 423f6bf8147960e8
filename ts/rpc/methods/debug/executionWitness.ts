// debug_executionWitness: What a client without the state needs to execute a block.
import { blockRef, witnessMode } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const executionWitness = method({
  name: 'debug_executionWitness',
  doc: 'The witness of a block, by which a client without the state executes and verifies it: trie nodes of the parent, codes, and headers up to the parent. `mode`: `canonical` (default) or `legacy`, the form of go-ethereum with headers as objects.',
  result: '`{state, codes, headers}`, sorted; also `keys: null` with `legacy`',
  cost: 'heavy',
  params: [required('block', blockRef), optional('mode', witnessMode)],
  handle: ({ core }, block, mode) => core.request('executionWitness', { block, legacy: mode === 'legacy' }),
})
