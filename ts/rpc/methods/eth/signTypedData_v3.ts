// eth_signTypedData_v3: Signs typed data with an account of eth_accounts (EIP-712). The data is an
// object or its JSON text.
import { address, anything } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { signTypedData } from '../../signing.ts'

export const signTypedDataV3 = method({
  name: 'eth_signTypedData_v3',
  doc: 'Signs typed data with an account of eth_accounts (EIP-712). The data is an object or its JSON text.',
  result: '65 bytes in hex',
  cost: 'read',
  params: [required('account', address), required('data', anything)],
  handle: ({ core }, account, data) => signTypedData(core, account, data),
})
