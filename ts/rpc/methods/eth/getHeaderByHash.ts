// eth_getHeaderByHash: The header with a hash, or null.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getHeaderByHash = method({
  name: 'eth_getHeaderByHash',
  doc: 'The header with a hash, or null.',
  result: 'header, or `null`',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.request('getHeaderByHash', { hash }),
})
