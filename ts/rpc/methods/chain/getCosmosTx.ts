// chain_getCosmosTx: The hash of a transaction as CometBFT has it.

import { createHash } from 'node:crypto'
import { readJson } from '../../../core/results.ts'
import { hash } from '../../codec/index.ts'
import { serverError } from '../../errors.ts'
import { json, method, required } from '../../method.ts'

export const chainCosmosTx = method({
  name: 'chain_getCosmosTx',
  doc: 'The SHA-256 of the bytes of a transaction, in upper-case hex digits: its hash in the RPC of CometBFT.',
  result: 'text',
  cost: 'read',
  params: [required('hash', hash)],
  handle: async ({ core }, hash) => {
    const raw = await readJson(core, 'getRawTransaction', { hash })
    if (raw === null || raw === '0x') throw serverError('receipt not found')
    return json(
      createHash('sha256')
        .update(Buffer.from(raw.slice(2), 'hex'))
        .digest('hex')
        .toUpperCase(),
    )
  },
})
