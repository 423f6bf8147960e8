// personal_sign: Signature of an account of eth_accounts over a message (EIP-191). The development chain alone has it.
import { address, data, word } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { signMessage } from '../../signing.ts'

export const personalSign = method({
  name: 'personal_sign',
  doc: 'Signature of an account of eth_accounts over a message (EIP-191). The development chain alone has it.',
  cost: 'read',
  params: [required('message', data), required('account', address), optional('password', word)],
  handle: ({ core }, message, account) => signMessage(core, account, message),
})
