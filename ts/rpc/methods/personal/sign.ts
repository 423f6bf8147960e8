// personal_sign: Signs a message with an account of eth_accounts (EIP-191). Only development chains
// have this method.
import { address, data, word } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { signMessage } from '../../signing.ts'

export const personalSign = method({
  name: 'personal_sign',
  doc: 'Signs a message with an account of eth_accounts (EIP-191). Only development chains have this method.',
  result: '65 bytes in hex',
  cost: 'read',
  params: [required('message', data), required('account', address), optional('password', word)],
  handle: ({ core }, message, account) => signMessage(core, account, String(message)),
})
