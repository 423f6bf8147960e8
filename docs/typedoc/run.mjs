// Makes docs/api: the API of the package, from the comments in its sources. TypeDoc brings the TypeScript that it reads with; it is installed
// here, and nowhere else, when this runs for the first time.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const HERE = import.meta.dirname
const TYPEDOC = path.join(HERE, 'node_modules/typedoc/bin/typedoc')

/** Runs a command with its output on standard error; ends with its code where it fails. */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: HERE, stdio: ['ignore', 2, 2] })
  if (status === 0) return
  console.error(`${command} ${args.join(' ')} failed${error === undefined ? '' : `: ${error.message}`}`)
  process.exit(status ?? 1)
}

if (!fs.existsSync(TYPEDOC)) run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'])
run(process.execPath, [TYPEDOC, '--options', 'typedoc.json'])
