// Offline work on a home that no node has open: making it, import, export.

import type { CoreFields } from './config.ts'

/** What every job needs to know of storage. */
export interface JobBase {
  readonly home: string
  readonly fsync: string
  readonly flatkv: CoreFields
  readonly littable: CoreFields
}

/** The name that stands for standard input in an import and for standard output in an export. */
export const STANDARD_STREAM = '-'

/** Work to do. Paths are absolute, or `STANDARD_STREAM`. */
export type Job = JobBase &
  (
    | { readonly job: 'init'; readonly genesis: string }
    | { readonly job: 'import'; readonly genesis: string | undefined; readonly files: readonly string[]; readonly head: string | undefined }
    | { readonly job: 'importCase'; readonly genesis: string | undefined; readonly case: string }
    | {
        readonly job: 'export'
        readonly file: string
        readonly from: number | undefined
        readonly to: number | undefined
        readonly withGenesis: boolean
      }
  )

/** How far a job is. */
export interface JobProgress {
  /** Blocks executed or written. */
  readonly blocks: number
  readonly gas: number
  /**
   * The finished part of the work: bytes of input for an import, blocks for an export, bytes of
   * stores for a task on them. `done` and `total` are 0 while the total is unknown.
   */
  readonly done: number
  readonly total: number
  /** Height of the last block done. */
  readonly height: number | null
}

/** What a job did. */
export interface JobResult {
  /** Blocks executed or written. */
  readonly blocks: number
  /** Blocks that were there already. */
  readonly known: number
  /** Those of them whose record was damaged and was written again. */
  readonly restored: number
  readonly gas: number
  /**
   * Nanoseconds of the execution itself; null if it was not measured (only a recorded block is).
   */
  readonly executionNanos: number | null
  readonly head: { readonly height: number; readonly hash: string } | null
  /** Checks that the input made impossible, one sentence each. */
  readonly skipped: readonly string[]
}

/** A job under way. */
export interface RunningJob<Result = JobResult> {
  progress(): JobProgress
  /**
   * Rejects with `CoreError`, of the kind `cancelled` after `cancel`; work done until then stays
   * done.
   */
  wait(): Promise<Result>
  /** Stops after the block under way. */
  cancel(): void
}
