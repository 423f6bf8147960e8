// eth_getBlockByHash: The block with a hash, or null.
import { boolean, hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getBlockByHash = method({
  name: 'eth_getBlockByHash',
  doc: 'The block with a hash, or null.',
  result: 'block, or `null`',
  cost: 'read',
  params: [required('hash', hash), required('fullTransactions', boolean, false)],
  handle: ({ core }, hash, full) => core.request('getBlockByHash', { hash, full }),
})
