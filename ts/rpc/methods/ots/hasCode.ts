// ots_hasCode: Whether an account has code after a block.
import { address, heightOrHash } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'

export const otsHasCode = method({
  name: 'ots_hasCode',
  doc: 'Whether an account has code after a block.',
  result: 'boolean',
  cost: 'read',
  params: [required('address', address), required('block', heightOrHash)],
  handle: async ({ core }, address, block) => json(Buffer.from(await core.request('getCode', { address, block })).toString() !== '"0x"'),
})
