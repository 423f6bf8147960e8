// What the pages of a transaction request from the node.
import { useEffect, useState } from 'preact/hooks'
import { type AccountChange, buildTree, type Frame, preorder, type RawDiff, type RawFrame, stateChanges } from '../../explore/index.ts'
import type { Header, Receipt, Transaction } from '../store/chain.ts'
import { head } from '../store/live.ts'
import { type Resource, useResource } from '../store/resource.ts'
import { rpc, rpcOr } from '../store/rpc.ts'

/**
 * A transaction with its receipt and the header of its block; both are absent while it waits in
 * the pool.
 */
export interface Loaded {
  readonly tx: Transaction
  readonly receipt: Receipt | undefined
  readonly header: Header | undefined
}

export const useTransaction = (hash: string | undefined): Resource<Loaded | null> =>
  useResource(
    hash === undefined ? undefined : `tx ${hash}`,
    async (signal) => {
      const tx = await rpc<Transaction | null>('eth_getTransactionByHash', [hash], signal)
      if (tx === null) return null
      if (tx.blockHash === null) return { tx, receipt: undefined, header: undefined }
      const [receipt, header] = await Promise.all([
        rpcOr<Receipt | null>('eth_getTransactionReceipt', [hash], signal),
        rpcOr<Header | null>('eth_getBlockByHash', [tx.blockHash, false], signal),
      ])
      return { tx, receipt: receipt ?? undefined, header: header ?? undefined }
    },
    false,
  )

/** The calls of a transaction, numbered in preorder as the methods for steps number them. */
export interface Trace {
  readonly top: Frame
  readonly frames: readonly Frame[]
  readonly numbers: ReadonlyMap<Frame, number>
  readonly byId: ReadonlyMap<string, number>
  /** For each frame the number behind its last descendant. */
  readonly ends: Int32Array
  readonly events: number
  /** Hash of the block, after which codes and names are looked up. */
  readonly block: string
}

export function traceOf(raw: RawFrame, block: string): Trace {
  const top = buildTree(raw)
  const frames = [...preorder(top)]
  const ends = new Int32Array(frames.length)
  const open: number[] = []
  for (const [i, frame] of frames.entries()) {
    while (open.length > frame.depth) ends[open.pop() as number] = i
    open.push(i)
  }
  for (const i of open) ends[i] = frames.length
  return {
    top,
    frames,
    ends,
    block,
    numbers: new Map(frames.map((frame, i) => [frame, i])),
    byId: new Map(frames.map((frame, i) => [frame.id, i])),
    events: frames.reduce((sum, { items, calls }) => sum + items.length - calls.length, 0),
  }
}

/** `block` keeps traces of two places of one transaction apart. */
export const useTrace = (hash: string, block: string | undefined): Resource<Trace> =>
  useResource(block === undefined ? undefined : `trace ${hash} ${block}`, async (signal) =>
    traceOf(
      await rpc<RawFrame>('debug_traceTransaction', [hash, { tracer: 'callTracer', tracerConfig: { withLog: true } }], signal),
      block as string,
    ),
  )

export const useChanges = (hash: string, block: string, wanted = true): Resource<readonly AccountChange[]> =>
  useResource(wanted ? `diff ${hash} ${block}` : undefined, async (signal) =>
    stateChanges(
      await rpc<RawDiff>('debug_traceTransaction', [hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }], signal),
    ),
  )

/** Where steps of frames are: the answer of debug_traceStepIndex. */
export interface StepIndex {
  readonly steps: number
  readonly every: number
  /** `[frame, pc, gas]` of every `every`th step. */
  readonly marks: readonly (readonly [number, number, number])[]
  /** `[first, last, own, parent, depth]`, or null for a frame without a step. */
  readonly frames: readonly (readonly [number, number, number, number | null, number] | null)[]
}

export const useStepIndex = (hash: string, block: string | undefined): Resource<StepIndex> =>
  useResource(block === undefined ? undefined : `steps ${hash} ${block}`, (signal) =>
    rpc<StepIndex>('debug_traceStepIndex', [hash, {}], signal),
  )

/** Gas of a transaction by where it went. */
export interface GasFacts {
  /** Own gas of the transaction's own call, without its intrinsic part. */
  readonly rootOwn: number
  readonly intrinsic: number
  readonly execution: number
  /** Given back at the end; negative if the floor price of the data (EIP-7623) was charged. */
  readonly refund: number
}

interface Profile {
  readonly executionGas: number
  readonly rows: readonly (readonly [number, number, number])[]
}

/** What follows from the steps alone: undefined until then, and if the node does not serve them. */
export function useGasFacts({ tx, receipt }: Loaded, index: StepIndex | undefined): GasFacts | undefined {
  const { value } = useResource(
    receipt === undefined || index === undefined ? undefined : `gas ${tx.hash} ${receipt.blockHash}`,
    async (signal) => (await rpcOr<Profile>('debug_traceGasProfile', [tx.hash, { by: 'frame' }], signal)) ?? null,
  )
  if (value == null || receipt === undefined || index === undefined) return undefined
  const used = Number(receipt.gasUsed)
  const first = index.frames[0] === null ? undefined : index.marks[0]
  // Before its first step a transaction has paid its intrinsic gas and nothing else.
  const intrinsic = first === undefined ? used - value.executionGas : Number(tx.gas) - first[2]
  return { rootOwn: value.rows[0]?.[1] ?? 0, intrinsic, execution: value.executionGas, refund: intrinsic + value.executionGas - used }
}

/** What became of a transaction that is looked at, after a reorganisation. */
export type Standing = 'here' | 'gone' | 'moved'

/**
 * Whether a transaction still is where it was when its page was opened: looked at with each new
 * block.
 */
export function useStanding(hash: string, block: string | undefined): Standing {
  const [standing, setStanding] = useState<Standing>('here')
  const newest = head.value?.hash
  useEffect(() => {
    if (block === undefined || newest === undefined) return
    const gone = new AbortController()
    rpc<Transaction | null>('eth_getTransactionByHash', [hash], gone.signal).then(
      (tx) => setStanding(tx === null || tx.blockHash === null ? 'gone' : tx.blockHash === block ? 'here' : 'moved'),
      () => undefined,
    )
    return () => gone.abort()
  }, [hash, block, newest])
  return standing
}
