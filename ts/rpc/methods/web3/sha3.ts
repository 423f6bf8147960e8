// web3_sha3: Keccak-256 of bytes.
import { data } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const sha3 = method({
  name: 'web3_sha3',
  doc: 'Keccak-256 of bytes.',
  result: 'hash',
  cost: 'read',
  params: [required('data', data)],
  handle: ({ core }, data) => core.request('keccak', { data }),
})
