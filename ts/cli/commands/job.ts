// What init, import and export share: run a job with its progress, and stop it cleanly on a signal.
import fs from 'node:fs'
import path from 'node:path'
import { CoreError } from '../../core/error.ts'
import type { Job, JobResult, RunningJob } from '../../core/jobs.ts'
import { startJob } from '../../core/native.ts'
import { UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { EXIT } from '../exit.ts'
import { type progressLine, watchJob } from '../progress.ts'
import { onStop } from '../signals.ts'

/** Exit code of work that a signal stopped. */
export const STOPPED_EXIT = EXIT.stopped

/** What a job came to, and how long it took. */
export interface Finished<Result> {
  readonly result: Result
  readonly ms: number
}

/** Runs a job to its end; undefined where a signal stopped it after the block under way. */
export const runJob = (job: Job, terminal: Terminal, lineOf?: typeof progressLine): Promise<Finished<JobResult> | undefined> =>
  finishJob(startJob(job), terminal, lineOf)

/** Waits for a job with its progress on the terminal; undefined where a signal stopped it. */
export async function finishJob<Result>(
  running: RunningJob<Result>,
  terminal: Terminal,
  lineOf?: typeof progressLine,
): Promise<Finished<Result> | undefined> {
  const began = Date.now()
  const forget = onStop(() => running.cancel())
  try {
    const result = await watchJob(running, running.wait(), terminal, lineOf)
    return { result, ms: Date.now() - began }
  } catch (e) {
    if (e instanceof CoreError && e.kind === 'cancelled') return undefined
    throw e
  } finally {
    forget()
  }
}

/** Whether a home cannot be opened because a process has it. */
export const isInUse = (e: unknown): e is CoreError => e instanceof CoreError && e.kind === 'home_in_use'

/** A height as it is typed, decimal or 0x-hex. */
export function heightOf(text: string, flag: string): number {
  const n = Number(text)
  if (!/^(\d+|0x[0-9a-fA-F]+)$/.test(text) || !Number.isSafeInteger(n))
    throw new UsageError(`--${flag} takes a height, not ${JSON.stringify(text)}`)
  return n
}

/** The absolute path of a file that must be there. */
export function inputFile(file: string, what: string): string {
  const found = fs.statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new UsageError(`${what} ${file} does not exist`)
  if (!found.isFile()) throw new UsageError(`${what} ${file} is not a file`)
  return path.resolve(file)
}
