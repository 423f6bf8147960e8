// Asking a node that runs to bake: files in data/trace_db/requests of its home. A request is NAME.json; the node answers with
// NAME.progress, which it replaces whole until that says `finished`.
import fs from 'node:fs'
import path from 'node:path'
import type { BakeRange, BakeReport } from '../core/bake.ts'
import { CoreError } from '../core/error.ts'
import type { JobProgress, RunningJob } from '../core/jobs.ts'

/** Time within which a node that bakes takes a request up, in milliseconds. */
const TAKEN_MS_MAX = 10_000

/** Time between two looks at how far it is, in milliseconds. */
const LOOK_EVERY_MS = 100

const NOTHING: JobProgress = { blocks: 0, gas: 0, done: 0, total: 0, height: null }

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))

/** Asks the node that has a home; `inUse` is why the home cannot be opened. */
export function askNode(home: string, range: BakeRange, inUse: CoreError): RunningJob<BakeReport> {
  const folder = path.join(home, 'data', 'trace_db', 'requests')
  const name = `${process.pid}-${Date.now()}`
  const request = path.join(folder, `${name}.json`)
  const answer = path.join(folder, `${name}.progress`)
  let seen: BakeReport | undefined
  let cancelled = false

  const look = (): BakeReport | undefined => {
    try {
      return JSON.parse(fs.readFileSync(answer, 'utf8')) as BakeReport
    } catch {
      // Not there yet, or not any more.
      return undefined
    }
  }

  const wait = async (): Promise<BakeReport> => {
    const unheard = new CoreError(
      'home_in_use',
      `${inUse.message}, which does not bake: start it with evm.trace_bake_enabled = true, or stop it`,
    )
    if (!fs.existsSync(folder)) throw unheard
    // Renamed, so that the node never reads half of it.
    fs.writeFileSync(`${request}.new`, JSON.stringify(range))
    fs.renameSync(`${request}.new`, request)
    const began = Date.now()
    try {
      for (;;) {
        if (cancelled) throw new CoreError('cancelled', 'cancelled')
        seen = look() ?? seen
        if (seen?.finished === true) return seen
        if (seen === undefined && Date.now() - began > TAKEN_MS_MAX) throw unheard
        await pause()
      }
    } finally {
      fs.rmSync(request, { force: true })
      fs.rmSync(answer, { force: true })
    }
  }

  return {
    progress: () => (seen === undefined ? NOTHING : { ...seen, blocks: seen.baked }),
    wait,
    cancel() {
      cancelled = true
    },
  }
}
