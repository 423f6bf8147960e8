// debug_codeByHash: Code by its hash, or null where no account has or had it.
import { blockRef, hash } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const codeByHash = method({
  name: 'debug_codeByHash',
  doc: 'The code with a Keccak hash, or null. The block parameter of reth and anvil is accepted and ignored: code never changes.',
  result: 'data',
  cost: 'read',
  params: [required('hash', hash), optional('block', blockRef)],
  handle: ({ core }, hash) => core.request('getCodeByHash', { hash }),
})
