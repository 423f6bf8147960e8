// debug_codeByHash: Code by its hash, or null where no account has or had it.
import { blockRef, hash } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const codeByHash = method({
  name: 'debug_codeByHash',
  doc: 'Code by its keccak hash, or null where this node has none. A block is accepted, as by reth and anvil, and makes no difference: code never changes.',
  cost: 'read',
  params: [required('hash', hash), optional('block', blockRef)],
  handle: ({ core }, hash) => core.request('getCodeByHash', { hash }),
})
