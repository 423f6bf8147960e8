// The package: Hearth in a script.

export type { SettingKey, Settings } from './config/index.ts'
export { SettingError } from './config/index.ts'
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
export { type Littable, type OpenLittableOptions, openLittable } from './node/littable.ts'
export * from './script/index.ts'
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
