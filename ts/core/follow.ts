// A data directory that follows another node: it holds blocks, receipts and trace capsules, but no
// state. What crosses between this process and the core.
import type { Hex } from './port.ts'

/** The form of a block's bytes: the result of debug_getRawBlock, or of eth_getBlockByHash. */
export type BlockForm = 'raw' | 'json'

/**
 * Where the state that a block reads comes from: a witness; proofs of the keys that it touches;
 * values without a proof; or nowhere, so that the block is kept as a hole.
 */
export type SourceName = 'witness' | 'proof' | 'prestate' | 'none'

/** How well a block was checked: up to the state root, or up to the receipts. */
export type Verified = 'proven' | 'executed'

/** A block by number and hash. */
export interface BlockId {
  readonly number: number
  readonly hash: Hex
}

/** What is said of a block that is given to the core. */
export interface FollowMeta {
  readonly hash: Hex
  readonly form: BlockForm
  readonly source: SourceName
  /** Most blocks that may leave the chain for it. */
  readonly reorgBlocks: number
}

/** An account with slots. */
export interface AccountSlots {
  readonly address: Hex
  readonly slots: readonly Hex[]
}

/** What an execution needs beyond what it was given. */
export interface Wanted {
  /** The block whose state is read. */
  readonly parent: Hex
  /** Proofs at the parent. */
  readonly accounts: readonly AccountSlots[]
  /** Codes by hash, with an account that has it at the parent. */
  readonly codes: readonly { readonly address: Hex; readonly hash: Hex }[]
  /** Headers of ancestors, for BLOCKHASH. */
  readonly headers: readonly { readonly number: number; readonly hash?: Hex }[]
  /** Proofs at the block itself: what a deleted key leaves behind shows its sibling. */
  readonly after: readonly AccountSlots[]
}

/** What became of a block. */
export type FollowAnswer =
  | {
      readonly status: 'followed'
      readonly number: number
      readonly hash: Hex
      readonly verified: Verified
      /** Blocks that left the chain for it. */
      readonly removed: number
      readonly fillRounds: number
    }
  | { readonly status: 'known' }
  | { readonly status: 'unknownParent'; readonly parent: Hex }
  | ({ readonly status: 'wanted' } & Wanted)
  | { readonly status: 'hole'; readonly reason: string }
  | { readonly status: 'refused'; readonly field: string; readonly reason: string }

/** What a data directory that follows holds. */
export interface FollowState {
  readonly head: BlockId
  /** The block below the first one that is held; its header alone is here. */
  readonly base: BlockId
  /** Blocks that could not be executed. */
  readonly holes: number
  readonly chainId: number
  readonly genesisHash: Hex
  readonly verified: { readonly proven: number; readonly executed: number }
  readonly safe: BlockId | null
  readonly finalized: BlockId | null
}

/** Blocks that are final according to the upstream. */
export interface FollowedFinality {
  readonly safe?: Hex
  readonly finalized?: Hex
}

/** The part of a core that takes blocks with what proves them. */
export interface FollowPort {
  /**
   * Checks a block by executing it on what it is given, and makes it the head. Stores nothing of a
   * block that is refused.
   */
  block(meta: FollowMeta, block: Buffer, witness: Buffer | undefined, extra: Buffer | undefined): Promise<FollowAnswer>
  state(): FollowState
  setFinality(finality: FollowedFinality): Promise<void>
}
