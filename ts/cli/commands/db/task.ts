// What the commands of `hearth db` share: their flags, and running a task with its progress.
import path from 'node:path'
import type { DbTasks } from '../../../core/db.ts'
import type { JobProgress } from '../../../core/jobs.ts'
import { startDbTask } from '../../../core/native.ts'
import { storage } from '../../../node/node-config.ts'
import { type Flag, type Parsed, UsageError } from '../../args.ts'
import type { Terminal } from '../../command.ts'
import { HOME_FLAG, homeOf, settingsOf } from '../../home.ts'
import { progressBar } from '../../progress.ts'
import { finishJob, STOPPED_EXIT } from '../job.ts'
import { bytesText } from './text.ts'

/** Flags of every command of `hearth db`. */
export const DB_FLAGS: Readonly<Record<string, Flag>> = { ...HOME_FLAG, json: { doc: 'Print the report as JSON.' } }

/** Flags of the commands on tables. */
export const TABLE_FLAGS: Readonly<Record<string, Flag>> = {
  ...DB_FLAGS,
  root: { value: 'DIR', many: true, doc: 'A folder of a littable store; repeatable. Default: the ledger of the data directory.' },
}

/** The folders given with --root. */
export const rootsOf = (parsed: Parsed): string[] => (parsed.lists.get('root') ?? []).map((dir) => path.resolve(dir))

/** The table that is named, by --table or as a word. */
export function tableOf(parsed: Parsed): string | undefined {
  const [flag, word] = [parsed.flags.get('table'), parsed.files[0]]
  if (flag !== undefined && word !== undefined) throw new UsageError(`--table ${flag} and ${word} both name a table: give one of them`)
  return flag ?? word
}

/** A flag that must be given. */
export function required(parsed: Parsed, flag: string): string {
  const value = parsed.flags.get(flag)
  if (value === undefined || value === '') throw new UsageError(`--${flag} is missing`)
  return value
}

/** How far a task on `done` of `total` bytes is. */
export function bytesLine({ done, total }: JobProgress, ms: number, bar: boolean): string {
  const rate = bytesText((done * 1000) / Math.max(ms, 1))
  return progressBar(done, total, ms, bar, `${bytesText(done)} of ${bytesText(total)}, ${rate}/s`)
}

/** How far a task on `done` of about `total` rows is. */
export function rowsLine({ done, total }: JobProgress, ms: number, bar: boolean): string {
  const rate = Math.round((done * 1000) / Math.max(ms, 1))
  return progressBar(done, Math.max(done, total), ms, bar, `${done} of about ${Math.max(done, total)} rows, ${rate}/s`)
}

/** Runs a task to its end and prints its report, as text or as JSON; resolves to the exit code. */
export async function runTask<Task extends keyof DbTasks>(
  parsed: Parsed,
  terminal: Terminal,
  task: Task,
  args: DbTasks[Task]['args'],
  text: (report: DbTasks[Task]['report']) => string,
  exitCode: (report: DbTasks[Task]['report']) => number = () => 0,
  line: typeof bytesLine = bytesLine,
): Promise<number> {
  const home = homeOf(parsed)
  const { settings } = settingsOf(parsed, home, terminal)
  const done = await finishJob(startDbTask(storage(home, settings), task, args), terminal, line)
  if (done === undefined) return STOPPED_EXIT
  terminal.out(parsed.flags.has('json') ? `${JSON.stringify(done.result, null, 2)}\n` : text(done.result))
  return exitCode(done.result)
}
