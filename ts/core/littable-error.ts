// The errors of a littable store of a script: one class for each error with data, and a code for
// every one.

/** What can go wrong, by code. */
export const LITTABLE_ERROR_CODES = [
  'ALREADY_OPEN',
  'BAD_NAME',
  'BAD_OPTIONS',
  'BAD_RANGE',
  'BAD_SETTING',
  'BUSY',
  'CLOSED',
  'CONFLICT',
  'CORRUPT',
  'FOREIGN_ROOT',
  'INTERNAL',
  'IO',
  'LEASE_EXPIRED',
  'LOCKED',
  'NETWORK_FS',
  'NEWER_FORMAT',
  'NO_SUCH_POSITION',
  'NO_SUCH_TABLE',
  'PRUNED',
  'READ_ONLY',
  'ROOT_MISSING',
  'SHARDED',
  'TOO_LARGE',
] as const

/** A code of an error. */
export type LittableErrorCode = (typeof LITTABLE_ERROR_CODES)[number]

/** What an error is about, as it crosses: 64-bit numbers are decimal text. */
type Data = Readonly<Record<string, string | number | null | undefined>>

/** An error of a store, a table or an iterator. */
export class LittableError extends Error {
  override name = 'LittableError'
  readonly code: LittableErrorCode

  constructor(code: LittableErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** The key is there with other bytes; nothing of the group was written. */
export class ConflictError extends LittableError {
  override name = 'ConflictError'
  readonly table: string
  readonly key: Uint8Array

  constructor(message: string, data: Data) {
    super('CONFLICT', message)
    this.table = String(data.table)
    this.key = Uint8Array.from(Buffer.from(String(data.key), 'hex'))
  }
}

/** The record's number lies below the floor. */
export class PrunedError extends LittableError {
  override name = 'PrunedError'
  readonly table: string
  /** Lowest number that is kept. */
  readonly floor: bigint

  constructor(message: string, data: Data) {
    super('PRUNED', message)
    this.table = String(data.table)
    this.floor = BigInt(data.floor ?? 0)
  }
}

/** Stored bytes are not what was written. */
export class CorruptError extends LittableError {
  override name = 'CorruptError'
  readonly path: string
  /** Byte in the file. */
  readonly offset: bigint

  constructor(message: string, data: Data) {
    super('CORRUPT', message)
    this.path = String(data.path)
    this.offset = BigInt(data.offset ?? 0)
  }
}

/** Another process has the store open for writing. */
export class LockedError extends LittableError {
  override name = 'LockedError'
  /** That process, where it is known. */
  readonly pid: number | undefined
  readonly host: string | undefined

  constructor(message: string, data: Data) {
    super('LOCKED', message)
    this.pid = typeof data.pid === 'number' ? data.pid : undefined
    this.host = typeof data.host === 'string' ? data.host : undefined
  }
}

/** The iterator was held longer than its lease. */
export class LeaseExpiredError extends LittableError {
  override name = 'LeaseExpiredError'
  /** Length of the lease. */
  readonly seconds: number

  constructor(message: string, data: Data) {
    super('LEASE_EXPIRED', message)
    this.seconds = Number(data.seconds)
  }
}

/** A key, a value or a group exceeds its limit. */
export class TooLargeError extends LittableError {
  override name = 'TooLargeError'
  readonly size: bigint
  readonly limit: bigint

  constructor(message: string, data: Data) {
    super('TOO_LARGE', message)
    this.size = BigInt(data.size ?? 0)
    this.limit = BigInt(data.limit ?? 0)
  }
}

/** The file system failed. */
export class LittableIoError extends LittableError {
  override name = 'LittableIoError'
  readonly path: string
  /** What the system calls it; undefined where it has no number. */
  readonly errno: number | undefined

  constructor(message: string, data: Data) {
    super('IO', message)
    this.path = String(data.path)
    this.errno = typeof data.errno === 'number' ? data.errno : undefined
  }
}

const CLASSES: Partial<Record<LittableErrorCode, new (message: string, data: Data) => LittableError>> = {
  CONFLICT: ConflictError,
  PRUNED: PrunedError,
  CORRUPT: CorruptError,
  LOCKED: LockedError,
  LEASE_EXPIRED: LeaseExpiredError,
  TOO_LARGE: TooLargeError,
  IO: LittableIoError,
}

const known = new Set<string>(LITTABLE_ERROR_CODES)
const decoder = new TextDecoder()

/** Reads the core's error value: `{"code":…,"message":…,"data":{…}}`. */
export function littableErrorFrom(bytes: Uint8Array): LittableError {
  const { code, message, data } = JSON.parse(decoder.decode(bytes)) as { code: string; message: string; data: Data }
  const of = known.has(code) ? (code as LittableErrorCode) : 'INTERNAL'
  const Class = CLASSES[of]
  return Class === undefined ? new LittableError(of, message) : new Class(message, data)
}
