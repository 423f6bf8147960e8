// The package: the same core, typed, for scripts.

export { type Littable, type OpenLittableOptions, openLittable } from './cli/littable.ts'
export { nodeConfig } from './cli/node-config.ts'
export { resolveSettings, type Settings } from './config/index.ts'
export type { Mode, NodeConfig } from './core/config.ts'
export { CoreError, type CoreErrorKind } from './core/error.ts'
export type { Job, JobProgress, JobResult, RunningJob } from './core/jobs.ts'
export type {
  IterateOptions,
  LittableGroup,
  LittableIterator,
  LittableRecord,
  LittableTable,
  LittableTableOptions,
  SecondaryKey,
} from './core/littable.ts'
export {
  ConflictError,
  CorruptError,
  LeaseExpiredError,
  LittableError,
  type LittableErrorCode,
  LittableIoError,
  LockedError,
  PrunedError,
  TooLargeError,
} from './core/littable-error.ts'
export { type DevAccount, devAccounts, openNode, startJob } from './core/native.ts'
export type { BlockNumber, BlockRef, Core, Hex, Operations, ResultStream, StreamOperations } from './core/port.ts'
export {
  type BigNumber,
  type ScriptBytes,
  type ScriptContext,
  type ScriptDb,
  type ScriptFrame,
  type ScriptFrameResult,
  type ScriptHooks,
  type ScriptLog,
  scriptOf,
} from './tracer/script.ts'
