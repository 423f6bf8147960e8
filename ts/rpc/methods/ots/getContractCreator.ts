// ots_getContractCreator: The transaction and the account that created a contract, or null.
import type { BlockNumber, Hex } from '../../../core/port.ts'
import { address } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'
import { firstHeight, orWithoutHistory } from '../../sender-nonce.ts'

export const otsContractCreator = method({
  name: 'ots_getContractCreator',
  doc: 'The transaction and the account that created a contract; null for an account without code, or with code since the first block. Reads the history of states; without it, the address index (evm.address_index).',
  result: '`{hash, creator}`, or `null`',
  cost: 'heavy',
  params: [required('address', address)],
  handle: ({ core, trace }, address) => {
    const hasCode = async (block: Hex): Promise<boolean> =>
      Buffer.from(await core.request('getCode', { address, block })).toString() !== '"0x"'
    const created = (block: BlockNumber | undefined) =>
      core.request('contractCreation', { address, block, maxBlocks: trace.filterMaxBlocks })
    const byHistory = async () => {
      const height = await firstHeight(core, hasCode)
      return height === undefined || height === 0n ? json(null) : await created(`0x${height.toString(16)}`)
    }
    const byIndex = async () => ((await hasCode('latest')) ? await created(undefined) : json(null))
    return orWithoutHistory(byHistory, byIndex)
  },
})
