// ots_getContractCreator: The transaction that made a contract, and who made it there; null for what is no contract.
import type { Hex, JsonObject, ResultStream } from '../../../core/port.ts'
import { address } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'
import { parity } from '../../parity.ts'
import { firstHeight } from '../../sender-nonce.ts'

interface Creation {
  readonly type: string
  readonly action: { readonly from?: Hex }
  readonly result?: { readonly address?: Hex } | null
  readonly transactionHash: Hex
}

async function read<T>(stream: ResultStream): Promise<T> {
  const parts: Buffer[] = []
  // A chunk's memory is given back once the next one is asked for.
  for (let part = await stream.next(); part !== null; part = await stream.next()) parts.push(Buffer.from(part))
  return JSON.parse(Buffer.concat(parts).toString()) as T
}

export const otsContractCreator = method({
  name: 'ots_getContractCreator',
  doc: 'The transaction that made a contract, and the account that made it there; null for what is no contract, or was one from the first block on. Needs the states of the blocks that it looks at.',
  cost: 'heavy',
  params: [required('address', address)],
  handle: async (context, address) => {
    const { core } = context
    const hasCode = async (block: Hex): Promise<boolean> =>
      Buffer.from(await core.request('getCode', { address, block })).toString() !== '"0x"'
    const height = await firstHeight(core, hasCode)
    if (height === undefined || height === 0n) return json(null)
    const block = `0x${height.toString(16)}`
    const filter: JsonObject = { fromBlock: block, toBlock: block, toAddress: [address], maxBlocks: 1, config: parity(context, {}) }
    const traces = await read<readonly Creation[]>(core.stream('traceFilter', filter))
    const made = traces.findLast(({ type, result }) => type === 'create' && result?.address === address.toLowerCase())
    return json(made === undefined ? null : { hash: made.transactionHash, creator: made.action.from })
  },
})
