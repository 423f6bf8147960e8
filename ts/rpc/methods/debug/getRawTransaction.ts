// debug_getRawTransaction: The EIP-2718 encoding of a transaction.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawTransaction = method({
  name: 'debug_getRawTransaction',
  doc: 'The EIP-2718 encoding of a transaction.',
  result: 'data, `0x` for an unknown block or transaction',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.request('getRawTransaction', { hash }),
})
