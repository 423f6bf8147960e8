// eth_createAccessList: Accounts and slots that a transaction touches (EIP-2930), and the gas that it uses with them listed.
import { blockRef, stateOverrides, transaction, withinLimits } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const createAccessList = method({
  name: 'eth_createAccessList',
  doc: 'Accounts and slots that a transaction touches (EIP-2930), and the gas that it uses with them listed.',
  cost: 'heavy',
  params: [required('transaction', transaction), optional('block', blockRef), optional('stateOverrides', stateOverrides)],
  handle: ({ core, overrides }, transaction, block, stateOverrides) =>
    core.request('createAccessList', { transaction, block, stateOverrides: withinLimits(stateOverrides, overrides) }),
})
