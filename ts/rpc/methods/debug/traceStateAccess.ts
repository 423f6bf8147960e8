// debug_traceStateAccess: What one transaction read and wrote.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const traceStateAccess = method({
  name: 'debug_traceStateAccess',
  doc:
    'What one transaction read and wrote: `{accounts, writes, stats}`. `accounts` and `writes` are `{address: {balance?, nonce?, code?, ' +
    'storage: {slot: value}}}`: values right before the transaction of all that it looked at, and final values of all that it changed, ' +
    'reverted frames left out. `stats` is `{reads, writes, nanos}`, each `{account, storage, code}`.',
  result: '`{accounts, writes, stats}`',
  cost: 'heavy',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.stream('traceStateAccess', { hash }),
})
