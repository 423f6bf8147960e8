// eth_createAccessList: The access list of a call (EIP-2930), and the gas that the call uses with
// it.
import { blockRef, stateOverrides, transaction, withinLimits } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const createAccessList = method({
  name: 'eth_createAccessList',
  doc: 'The access list of a call (EIP-2930), and the gas that the call uses with it.',
  result: '`{accessList, gasUsed, error}`',
  cost: 'heavy',
  params: [required('transaction', transaction, {}), optional('block', blockRef), optional('stateOverrides', stateOverrides)],
  handle: ({ core, overrides }, transaction, block, stateOverrides) =>
    core.request('createAccessList', { transaction, block, stateOverrides: withinLimits(stateOverrides, overrides) }),
})
