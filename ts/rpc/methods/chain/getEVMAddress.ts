// chain_getEVMAddress: The address of an account in the text of the Cosmos SDK.

import type { Core } from '../../../core/port.ts'
import { readJson } from '../../../core/results.ts'
import { ACCOUNT_PREFIX, readBech32 } from '../../bech32.ts'
import { word } from '../../codec/index.ts'
import { noEvmAddress } from '../../errors.ts'
import { json, method, required } from '../../method.ts'

/** Bytes of an account. */
const ACCOUNT_BYTES = 20

/**
 * Prefixes of the texts that stand for an account: its own, and that of the validator it operates.
 */
const PREFIXES: readonly string[] = [ACCOUNT_PREFIX, `${ACCOUNT_PREFIX}valoper`]

/** An address in the mixed case of EIP-55. */
async function checksummed(core: Core, digits: string): Promise<string> {
  const data = `0x${Buffer.from(digits).toString('hex')}`
  const hash = await readJson(core, 'keccak', { data })
  return `0x${[...digits].map((c, i) => (Number.parseInt(hash[i + 2] as string, 16) >= 8 ? c.toUpperCase() : c)).join('')}`
}

export const chainEvmAddress = method({
  name: 'chain_getEVMAddress',
  doc: 'The address of an account, or of the operator of a validator, in the text of the Cosmos SDK (bech32), with a checksum (EIP-55).',
  result: 'address',
  cost: 'read',
  params: [required('account', word)],
  handle: async ({ core }, account) => {
    const read = readBech32(account)
    if (read === undefined || !PREFIXES.includes(read.prefix) || read.bytes.length !== ACCOUNT_BYTES) throw noEvmAddress(account)
    return json(await checksummed(core, Buffer.from(read.bytes).toString('hex')))
  },
})
