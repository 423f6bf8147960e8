// Makes docs/api: the API of the package, from the comments in its sources. TypeDoc depends on a
// TypeScript version of its own; it is installed into the cache on the first run.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { CACHE } from '../env.mjs'
import { digest } from '../stamp.mjs'

const HERE = import.meta.dirname
/** What says which versions are installed. */
const MANIFEST = ['package.json', 'package-lock.json', '.npmrc']
const INSTALLED = path.join(CACHE, `typedoc-${digest(MANIFEST.map((name) => path.join('native/setup/typedoc', name))).slice(0, 16)}`)
const TYPEDOC = path.join(INSTALLED, 'node_modules/typedoc/bin/typedoc')

/** Runs a command with its output on standard error; ends with its code where it fails. */
function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] })
  if (status === 0) return
  console.error(`${command} ${args.join(' ')} failed${error === undefined ? '' : `: ${error.message}`}`)
  process.exit(status ?? 1)
}

if (!fs.existsSync(TYPEDOC)) {
  fs.mkdirSync(INSTALLED, { recursive: true })
  for (const name of MANIFEST) fs.copyFileSync(path.join(HERE, name), path.join(INSTALLED, name))
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], INSTALLED)
}
run(process.execPath, [TYPEDOC, '--options', 'typedoc.json'], HERE)
