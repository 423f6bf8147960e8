// Baking a range of blocks: the job and its report.
import type { NodeConfig } from './config.ts'

/** Heights to bake, both included; the first block and the head where absent. */
export interface BakeRange {
  readonly from: number | undefined
  readonly to: number | undefined
}

/** What to bake on which home, under which settings. */
export interface BakeWork {
  readonly node: NodeConfig
  readonly range: BakeRange
}

/** How far baking a range is, or what came of it. */
export interface BakeReport {
  /** Heights of the range. */
  readonly total: number
  /** Heights that were looked at. */
  readonly done: number
  /** Blocks baked now. */
  readonly baked: number
  /** Blocks that were baked already. */
  readonly known: number
  /** Blocks that could not be baked. */
  readonly failed: number
  /** Gas of the blocks baked now. */
  readonly gas: number
  /** Bytes that their answers take. */
  readonly bytes: number
  /** The last height that was looked at. */
  readonly height: number | null
  /** The first failures. */
  readonly failures: readonly { readonly height: number; readonly reason: string }[]
  /** Nothing more will happen. */
  readonly finished: boolean
  /** Why it ended before its last height. */
  readonly stopped: string | null
}
