// ots_getContractCreator: The transaction that made a contract, and who made it there; null for
// what is no contract.
import type { Hex } from '../../../core/port.ts'
import { address } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'
import { framesOf } from '../../otterscan.ts'
import { firstHeight } from '../../sender-nonce.ts'

interface Creation {
  readonly type: string
  readonly action: { readonly from?: Hex }
  readonly result?: { readonly address?: Hex } | null
  readonly transactionHash: Hex
}

export const otsContractCreator = method({
  name: 'ots_getContractCreator',
  doc: 'The transaction and the account that created a contract; null for an account without code, or with code since the first block. Needs the states of the blocks that it reads.',
  cost: 'heavy',
  params: [required('address', address)],
  handle: async (context, address) => {
    const { core } = context
    const hasCode = async (block: Hex): Promise<boolean> =>
      Buffer.from(await core.request('getCode', { address, block })).toString() !== '"0x"'
    const height = await firstHeight(core, hasCode)
    if (height === undefined || height === 0n) return json(null)
    const block: Hex = `0x${height.toString(16)}`
    const traces = await framesOf<Creation>(context, block, [address])
    const made = traces.findLast(({ type, result }) => type === 'create' && result?.address === address.toLowerCase())
    return json(made === undefined ? null : { hash: made.transactionHash, creator: made.action.from })
  },
})
