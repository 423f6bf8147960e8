// eth_call: Executes a call on the state after a block and returns its output. Nothing is stored.
import { blockOverrides, blockRef, stateOverrides, transaction, withinLimits } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const call = method({
  name: 'eth_call',
  doc: 'Executes a call on the state after a block and returns its output. Nothing is stored.',
  result: 'data',
  cost: 'heavy',
  params: [
    required('transaction', transaction, {}),
    optional('block', blockRef),
    optional('stateOverrides', stateOverrides),
    optional('blockOverrides', blockOverrides),
  ],
  handle: ({ core, overrides }, transaction, block, stateOverrides, blockOverrides) =>
    core.request('call', { transaction, block, stateOverrides: withinLimits(stateOverrides, overrides), blockOverrides }),
})
