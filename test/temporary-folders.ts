// Runs in the process that runs the files of tests. A file whose tests are all skipped runs no hook
// that removes its temporary folder (temporary-folder.ts): what is left without a file in it goes
// at the end.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** How the names of the temporary folders begin that a process gives its files of tests. */
export const folderPrefix = (pid: number): string => path.join(os.tmpdir(), `hearth-file-${pid}-`)

const hasFiles = (dir: string): boolean =>
  fs.readdirSync(dir, { recursive: true, withFileTypes: true }).some((entry) => !entry.isDirectory())

export function teardown(): void {
  const prefix = folderPrefix(process.pid)
  for (const name of fs.readdirSync(path.dirname(prefix))) {
    const dir = path.join(path.dirname(prefix), name)
    if (dir.startsWith(prefix) && !hasFiles(dir)) fs.rmSync(dir, { recursive: true, force: true })
  }
}
