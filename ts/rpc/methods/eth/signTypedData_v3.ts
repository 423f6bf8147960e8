// eth_signTypedData_v3: Signature of an account of eth_accounts over typed data (EIP-712), given as an object or as its text.
import { address, anything } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { signTypedData } from '../../signing.ts'

export const signTypedDataV3 = method({
  name: 'eth_signTypedData_v3',
  doc: 'Signature of an account of eth_accounts over typed data (EIP-712), given as an object or as its text.',
  cost: 'read',
  params: [required('account', address), required('data', anything)],
  handle: ({ core }, account, data) => signTypedData(core, account, data),
})
