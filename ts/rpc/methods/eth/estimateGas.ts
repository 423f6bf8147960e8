// eth_estimateGas: The minimum gas limit with which a transaction succeeds.
import { blockOverrides, blockRef, stateOverrides, transaction, withinLimits } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const estimateGas = method({
  name: 'eth_estimateGas',
  doc: 'The minimum gas limit with which a transaction succeeds.',
  result: 'quantity',
  cost: 'heavy',
  params: [
    required('transaction', transaction, {}),
    optional('block', blockRef),
    optional('stateOverrides', stateOverrides),
    optional('blockOverrides', blockOverrides),
  ],
  handle: ({ core, overrides }, transaction, block, stateOverrides, blockOverrides) =>
    core.request('estimateGas', { transaction, block, stateOverrides: withinLimits(stateOverrides, overrides), blockOverrides }),
})
