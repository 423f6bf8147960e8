// chain_getChainAddress: An account in the text of the Cosmos SDK.
import { ACCOUNT_PREFIX, bech32 } from '../../bech32.ts'
import { address } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'

export const chainAddress = method({
  name: 'chain_getChainAddress',
  doc: 'The same account in the text of the Cosmos SDK (bech32).',
  result: 'text',
  cost: 'read',
  params: [required('address', address)],
  handle: (_, address) => json(bech32(ACCOUNT_PREFIX, Buffer.from(address.slice(2), 'hex'))),
})
