// What init, import and export share: run a job with its progress, and stop it cleanly on a signal.
import fs from 'node:fs'
import path from 'node:path'
import type { Settings } from '../../config/index.ts'
import { CoreError } from '../../core/error.ts'
import type { Job, JobResult } from '../../core/jobs.ts'
import { startJob } from '../../core/native.ts'
import { UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { watchJob } from '../progress.ts'
import { onStop } from '../signals.ts'

const MIB = 1024 * 1024

/** What the core must know of storage for any job. */
export const storage = (home: string, settings: Settings): { home: string; fsync: string; cacheBytes: number } => ({
  home,
  fsync: settings['storage.fsync'],
  cacheBytes: settings['storage.cache_mib'] * MIB,
})

/** Exit code of work that a signal stopped. */
export const STOPPED_EXIT = 130

/** Runs a job to its end; undefined where a signal stopped it after the block under way. */
export async function runJob(job: Job, terminal: Terminal): Promise<{ result: JobResult; ms: number } | undefined> {
  const began = Date.now()
  const running = startJob(job)
  const forget = onStop(() => running.cancel())
  try {
    const result = await watchJob(running, running.wait(), terminal)
    return { result, ms: Date.now() - began }
  } catch (e) {
    if (e instanceof CoreError && e.kind === 'cancelled') return undefined
    throw e
  } finally {
    forget()
  }
}

/** The absolute path of a file that must be there. */
export function inputFile(file: string, what: string): string {
  const found = fs.statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new UsageError(`${what} ${file} does not exist`)
  if (!found.isFile()) throw new UsageError(`${what} ${file} is not a file`)
  return path.resolve(file)
}
