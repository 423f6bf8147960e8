// The holder of the lock of a home: the process that has the stores open locks the file
// data/state/hearth.lock with flock(2) and writes its name into it. This module never takes the
// lock, so a look-up never blocks a node.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { isAlive } from '../node/process.ts'

/** A folder or file of the home that this user may not look into; exit code 1. */
export class HomeDeniedError extends Error {
  override name = 'HomeDeniedError'
  readonly path: string
  /** The user who may. */
  readonly user: string

  constructor(denied: string, user: string) {
    super(`permission denied: ${denied} (run as ${user})`)
    this.path = denied
    this.user = user
  }
}

/** The process that has the stores of a home open. */
export interface LockHolder {
  readonly pid: number
  readonly host: string
}

/** Largest lock file that is read, in bytes. */
const LOCK_BYTES_MAX = 4096

/** A line of /proc/locks: kind, access, process, device and inode. */
const FLOCK = /^\d+: FLOCK +\S+ +\S+ +-?\d+ +[0-9a-f]+:[0-9a-f]+:(\d+) /gm

/** The name of a user by number, as /etc/passwd has it. */
function userName(uid: number): string {
  try {
    const line = fs
      .readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((entry) => entry.split(':')[2] === String(uid))
    return line?.split(':')[0] ?? `user ${uid}`
  } catch {
    return `user ${uid}`
  }
}

const isDenied = (e: unknown): boolean => (e as NodeJS.ErrnoException).code === 'EACCES'

/** The outermost part of a path that this user may not use, from `home` inwards. */
function deniedPart(home: string, file: string): string {
  const parts = path.relative(home, file).split(path.sep)
  const folders = parts.map((_, depth) => path.join(home, ...parts.slice(0, depth)))
  const isClosed = (folder: string): boolean => {
    try {
      fs.accessSync(folder, fs.constants.X_OK)
      return false
    } catch (e) {
      return isDenied(e)
    }
  }
  return folders.find(isClosed) ?? file
}

/** What to throw where a file of a home cannot be read for want of permission. */
function denied(home: string, file: string): HomeDeniedError {
  const part = deniedPart(home, file)
  try {
    return new HomeDeniedError(part, userName(fs.statSync(part).uid))
  } catch {
    return new HomeDeniedError(part, 'the user of the node')
  }
}

/** The text and inode of the lock file; undefined where there is none. Throws `HomeDeniedError`. */
function readLock(home: string): { text: string; inode: bigint } | undefined {
  const file = path.join(home, 'data', 'state', 'hearth.lock')
  let descriptor: number
  try {
    descriptor = fs.openSync(file, 'r')
  } catch (e) {
    if (isDenied(e)) throw denied(home, file)
    return undefined
  }
  try {
    const bytes = Buffer.alloc(LOCK_BYTES_MAX)
    const read = fs.readSync(descriptor, bytes, 0, bytes.length, 0)
    return { text: bytes.toString('utf8', 0, read), inode: fs.fstatSync(descriptor, { bigint: true }).ino }
  } finally {
    fs.closeSync(descriptor)
  }
}

function firstLine(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Whether a file is locked with flock on this machine; undefined where the system does not say. */
function isLocked(inode: bigint): boolean | undefined {
  const locks = firstLine('/proc/locks')
  if (locks === undefined) return undefined
  return [...locks.matchAll(FLOCK)].some(([, found]) => found === String(inode))
}

/**
 * The process that has the stores of a home open; undefined if there is none. A killed process
 * leaves its name in the file, but no lock; a later process with the same number has no lock
 * either. Throws `HomeDeniedError` if this user may not read the lock.
 */
export function lockHolder(home: string): LockHolder | undefined {
  const lock = readLock(home)
  const found = /^host=(.*)\npid=(\d+)\nboot=(.*)$/m.exec(lock?.text ?? '')
  if (lock === undefined || found === null) return undefined
  const [, host = '', digits = '', boot] = found
  const holder = { pid: Number(digits), host }
  // The locks of another machine, or of a container, cannot be seen from here: the file is the only
  // evidence.
  if (host !== os.hostname()) return holder
  const thisBoot = firstLine('/proc/sys/kernel/random/boot_id')
  if (thisBoot !== undefined && boot !== thisBoot) return undefined
  return (isLocked(lock.inode) ?? isAlive(holder.pid)) ? holder : undefined
}
