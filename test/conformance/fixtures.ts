// Where the recorded cases of other projects lie, and how a test says that they are missing.
import fs from 'node:fs'
import path from 'node:path'

/** Root of the checkout. */
export const ROOT = path.resolve(import.meta.dirname, '../..')

/** Folder of the recorded cases. */
export const FIXTURES = path.resolve(ROOT, process.env.HEARTH_FIXTURES ?? '../shared/fixtures')

/** The folder of one set; undefined, said aloud, where it is missing. */
export function fixtures(set: string): string | undefined {
  const dir = path.join(FIXTURES, set)
  if (fs.existsSync(dir)) return dir
  console.log(`skipped: ${set} is not in ${FIXTURES} (HEARTH_FIXTURES names the folder)`)
  return undefined
}
