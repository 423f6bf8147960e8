// eth_sendRawTransaction: Takes a signed transaction (EIP-2718); its hash.
import { data } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const sendRawTransaction = method({
  name: 'eth_sendRawTransaction',
  doc: 'Takes a signed transaction (EIP-2718); its hash.',
  cost: 'write',
  params: [required('transaction', data)],
  handle: ({ core }, transaction) => core.request('sendRawTransaction', { transaction }),
})
