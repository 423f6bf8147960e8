// Runs before the tests of each file: gives the file a temporary folder of its own, with the homes
// of its nodes and all that the programs which it starts put aside. It is removed when every test
// of the file has passed; after a failure it stays, so that its homes can be looked into.
import fs from 'node:fs'
import { afterAll } from 'vitest'
import { folderPrefix } from './temporary-folders.ts'

/** As that of /tmp: programs of other users get through to what is theirs. */
const MODE = 0o1777

/** Attempts to remove it: a process that ends may still write into its home. */
const ATTEMPTS = 10

interface Outcome {
  readonly result?: { readonly state: string } | undefined
  readonly tasks?: readonly Outcome[]
}

/** Whether a test of it failed, or a hook. */
const hasFailed = ({ result, tasks = [] }: Outcome): boolean => result?.state === 'fail' || tasks.some(hasFailed)

const before = process.env.TMPDIR
const folder = fs.mkdtempSync(folderPrefix(process.ppid))
fs.chmodSync(folder, MODE)
process.env.TMPDIR = folder

// What is registered first runs last: after all hooks of the file.
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures out of it.
afterAll(({}, file) => {
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  if (hasFailed(file)) console.log(`kept, for a test failed: ${folder}`)
  else fs.rmSync(folder, { recursive: true, force: true, maxRetries: ATTEMPTS })
})
