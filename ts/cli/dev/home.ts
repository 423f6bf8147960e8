// Homes of development chains that nobody wants to keep: below the system's folder for temporary files, gone with their process.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Resolved, Settings } from '../../config/index.ts'
import { isAlive } from '../running.ts'

/** What their names begin with; the process that has one follows. */
const PREFIX = 'hearth-dev-'

const NAME = /^hearth-dev-(\d+)-(\d+)-[A-Za-z0-9]+$/

/** When a process began, in ticks since the system did, or 0 where the system does not say; undefined where there is no such process. */
function beginOf(pid: number): number | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program stands in brackets and may hold anything; field 22 of proc(5) is the 20th behind it.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  } catch {
    return fs.existsSync('/proc/self/stat') ? undefined : isAlive(pid) ? 0 : undefined
  }
}

/** Removes homes whose process is gone; those of other users stay, as they must. */
function removeLeftOvers(dir: string): void {
  for (const name of fs.readdirSync(dir)) {
    const [, pid, begin] = NAME.exec(name) ?? []
    if (pid === undefined || beginOf(Number(pid)) === Number(begin)) continue
    try {
      fs.rmSync(path.join(dir, name), { recursive: true, force: true })
    } catch {
      // Somebody else's, or somebody else is about it.
    }
  }
}

/** A home that is gone when this process is, or when the next such home is made after it was killed. */
export interface TemporaryHome {
  readonly home: string
  remove(): void
}

/** Makes such a home. */
export function temporaryHome(dir = os.tmpdir()): TemporaryHome {
  removeLeftOvers(dir)
  const home = fs.mkdtempSync(path.join(dir, `${PREFIX}${process.pid}-${beginOf(process.pid) ?? 0}-`))
  const remove = (): void => fs.rmSync(home, { recursive: true, force: true })
  // Also where the process ends at once: after a second signal, or on a failure that nobody caught.
  process.once('exit', remove)
  return {
    home,
    remove() {
      process.off('exit', remove)
      remove()
    },
  }
}

/** What such a home has in place of the defaults: nothing is synced, for nobody reads it after its process, and there are no snapshots. */
const TRANSIENT = {
  'state-commit.flatkv.fsync': 'never',
  'state-commit.flatkv.snapshot_interval_blocks': 0,
  'state-commit.flatkv.wal_max_bytes': 0,
} as const

/** The settings of such a home; what somebody set himself stays. */
export function temporarySettings({ origins }: Resolved, settings: Settings): Settings {
  const own = Object.entries(TRANSIENT).filter(([key]) => origins[key as keyof typeof TRANSIENT] === 'default')
  return { ...settings, ...Object.fromEntries(own) }
}
