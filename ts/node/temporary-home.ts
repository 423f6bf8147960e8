// Temporary homes of development chains: below the system's folder for temporary files, removed
// with their process.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Resolved, Settings } from '../config/index.ts'
import { isAlive } from './process.ts'

/**
 * What their names begin with. The process that has one follows: its number, when it began, and the
 * namespace in which it has that number.
 */
const PREFIX = 'hearth-dev-'

const NAME = /^hearth-dev-(\d+)-(\d+)-(\d+)-[A-Za-z0-9]+$/

/**
 * The namespace of numbers of processes that this process is in (pid_namespaces(7)), or 0 where the
 * system has none: each container has its own, and may share the folder for temporary files.
 */
function pidNamespace(): string {
  try {
    return /^pid:\[(\d+)\]$/.exec(fs.readlinkSync('/proc/self/ns/pid'))?.[1] ?? '0'
  } catch {
    return '0'
  }
}

/**
 * When a process began, in ticks since the boot, or 0 if the system does not report it; undefined
 * if there is no such process.
 */
function beginOf(pid: number): number | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program is in brackets and may contain anything; field 22 of proc(5) is the
    // 20th after it.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  } catch {
    return fs.existsSync('/proc/self/stat') ? undefined : isAlive(pid) ? 0 : undefined
  }
}

/**
 * Removes homes whose process is gone. Those of other users stay, as they must, and so do those of
 * another or an unknown namespace: whether their process runs cannot be found out from here.
 */
function removeLeftOvers(dir: string, own: string): void {
  for (const name of fs.readdirSync(dir)) {
    const [, pid, begin, namespace] = NAME.exec(name) ?? []
    if (pid === undefined || namespace !== own || beginOf(Number(pid)) === Number(begin)) continue
    try {
      fs.rmSync(path.join(dir, name), { recursive: true, force: true })
    } catch {
      // It belongs to another user, or another process is removing it.
    }
  }
}

/**
 * A home that is removed with this process or, if that is killed, when the next such home is made.
 */
export interface TemporaryHome {
  readonly home: string
  remove(): void
}

/** Makes such a home. */
export function temporaryHome(dir = os.tmpdir()): TemporaryHome {
  const namespace = pidNamespace()
  removeLeftOvers(dir, namespace)
  const home = fs.mkdtempSync(path.join(dir, `${PREFIX}${process.pid}-${beginOf(process.pid) ?? 0}-${namespace}-`))
  const remove = (): void => {
    try {
      fs.rmSync(home, { recursive: true, force: true })
    } catch {
      // The stores of a process that ends at once still write there: it goes with the next home.
    }
  }
  // Also if the process ends at once: after a second signal, or on an uncaught failure.
  process.once('exit', remove)
  return {
    home,
    remove() {
      process.off('exit', remove)
      remove()
    },
  }
}

/**
 * The settings of such a home that differ from the defaults: nothing is synced, because the home
 * ends with its process, and there are no snapshots.
 */
const TRANSIENT = {
  'state-commit.flatkv.fsync': 'never',
  'state-commit.flatkv.snapshot_interval_blocks': 0,
  'state-commit.flatkv.wal_max_bytes': 0,
} as const

/** The settings of such a home; values that the user set stay. */
export function temporarySettings({ origins }: Resolved, settings: Settings): Settings {
  const own = Object.entries(TRANSIENT).filter(([key]) => origins[key as keyof typeof TRANSIENT] === 'default')
  return { ...settings, ...Object.fromEntries(own) }
}
