// eth_sign: Signs a message with an account of eth_accounts (EIP-191).
import { address, data } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { signMessage } from '../../signing.ts'

export const sign = method({
  name: 'eth_sign',
  doc: 'Signs a message with an account of eth_accounts (EIP-191).',
  result: '65 bytes in hex',
  cost: 'read',
  params: [required('account', address), required('message', data)],
  handle: ({ core }, account, message) => signMessage(core, account, String(message)),
})
