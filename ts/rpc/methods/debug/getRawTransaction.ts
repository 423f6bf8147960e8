// debug_getRawTransaction: A transaction in its EIP-2718 encoding.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawTransaction = method({
  name: 'debug_getRawTransaction',
  doc: 'A transaction in its EIP-2718 encoding.',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.request('getRawTransaction', { hash }),
})
