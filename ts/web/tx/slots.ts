// Names of slots: by the layout of the contract, else by the hashes that the transaction computed.
import { type Frame, namedSlot, type Preimages } from '../../explore/index.ts'
import { useResource } from '../store/resource.ts'
import { rpc } from '../store/rpc.ts'
import type { Contracts } from '../tools/contracts.ts'

/** Where the node does not say what a transaction hashed. */
const UNKNOWN: Preimages = new Map()

/** What a transaction hashed; undefined until it is known. */
export function usePreimages(hash: string, block: string): Preimages | undefined {
  const { value, error } = useResource(`preimages ${hash} ${block}`, async (signal) => {
    const found = await rpc<Record<string, string>>('debug_traceTransaction', [hash, { tracer: 'keccak256PreimageTracer' }], signal)
    return new Map(Object.entries(found))
  })
  return error === undefined ? value : UNKNOWN
}

/** The account whose storage a frame works on: that of its caller where it runs another's code. */
export const storageOf = ({ kind, from, to }: Frame): string => (kind === 'DELEGATECALL' || kind === 'CALLCODE' ? from : (to ?? from))

/** A word in hex with its prefix, as JSON-RPC gives it with and without. */
export const wordOf = (text: string): string => `0x${text.replace(/^0x/, '')}`

/** The name of a slot of an account; undefined where nothing explains it. */
export function slotName(
  address: string,
  slot: string,
  { preimages, contracts }: { readonly preimages: Preimages | undefined; readonly contracts: Contracts | undefined },
): string | undefined {
  if (preimages === undefined) return undefined
  const parts = contracts?.slot(address, { slot, before: ZERO, after: ZERO }, preimages, true) ?? []
  return parts.length > 0 ? parts.map(({ name }) => name).join(', ') : namedSlot(slot, preimages)
}

const ZERO = `0x${'0'.repeat(64)}`
