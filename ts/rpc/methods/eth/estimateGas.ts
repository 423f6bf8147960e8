// eth_estimateGas: The least gas with which a transaction succeeds.
import { blockOverrides, blockRef, stateOverrides, transaction } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const estimateGas = method({
  name: 'eth_estimateGas',
  doc: 'The least gas with which a transaction succeeds.',
  cost: 'heavy',
  params: [
    required('transaction', transaction),
    optional('block', blockRef),
    optional('stateOverrides', stateOverrides),
    optional('blockOverrides', blockOverrides),
  ],
  handle: ({ core }, transaction, block, stateOverrides, blockOverrides) =>
    core.request('estimateGas', { transaction, block, stateOverrides, blockOverrides }),
})
