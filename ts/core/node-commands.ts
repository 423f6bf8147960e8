// Requests of another process to the node of a home, through the home's folder data/requests.
import type { BakeRange, BakeReport } from './bake.ts'
import type { SnapshotInfo } from './db.ts'
import type { JobResult } from './jobs.ts'

/** The requests by name, with their arguments and reports. */
export interface NodeCommands {
  bake: { args: BakeRange; report: BakeReport }
  /** Paths are absolute: the node reads the files itself. */
  import: { args: { readonly files: readonly string[]; readonly head: string | undefined }; report: JobResult }
  snapshot: { args: object; report: SnapshotInfo }
}
