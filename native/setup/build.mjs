// Makes everything that is missing or out of date: npm packages, RocksDB and libclang, the native core, isolated-vm, dist/.
//
//   node native/setup/build.mjs          all of it (what `npm start` and `npm run build` call first)
//   node native/setup/build.mjs npm      npm packages alone
//   node native/setup/build.mjs sandboxes   isolated-vm for every supported version of Node, for a package
//
// HEARTH_PROFILE=dev builds the core with cargo's dev profile: quicker to build, slower to run. Imports Node's own modules alone, since it
// runs before anything is installed.
import './require-node.mjs'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cargoEnv } from './cargo.mjs'
import { ROOT, SetupError, say, TARGET } from './env.mjs'
import { isolatedVm, isolatedVms } from './isolated-vm.mjs'
import { digest, Stamp } from './stamp.mjs'
import { checkCompilers, checkNpm } from './tools.mjs'

const PROFILES = ['release', 'dev']
const NATIVE_SOURCES = [
  'Cargo.lock',
  'Cargo.toml',
  '.cargo',
  'crates',
  'native/Cargo.toml',
  'native/build.rs',
  'native/src',
  'native/setup',
]
const TS_SOURCES = ['ts', 'native/index.d.ts', 'tsconfig.json', 'package-lock.json']

function profile() {
  const asked = process.env.HEARTH_PROFILE ?? 'release'
  if (!PROFILES.includes(asked)) throw new SetupError(`HEARTH_PROFILE is ${asked}: it is one of ${PROFILES.join(', ')}.`)
  return asked
}

/** Runs a command with its output on standard error, which is for progress; refuses with `failure` where it fails. */
function run(command, args, failure, env = process.env) {
  const r = spawnSync(command, args, { cwd: ROOT, env, stdio: ['ignore', 2, 2] })
  if (r.status !== 0)
    throw new SetupError(`${failure} (${r.error?.message ?? r.signal ?? `exit code ${r.status}`}). What went wrong stands above.`)
}

const seconds = (since) => Math.round((Date.now() - since) / 1000)

function npmPackages() {
  const stamp = new Stamp('node_modules/.hearth-stamp', ['node_modules/typescript/package.json'])
  const sources = digest(['package.json', 'package-lock.json', '.npmrc'], process.versions.modules)
  if (stamp.matches(sources)) return
  checkNpm()
  say('installing npm packages (about 30 s)')
  // Not `npm ci`: it refuses a lock file without the optional packages of other platforms, which a registry may not have.
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], 'npm install failed')
  stamp.write(sources)
}

/** The names that napi gives the library of this machine are many; one file of ours is the sign that it is there. */
const addon = () => fs.readdirSync(path.join(ROOT, 'native')).find((name) => name.startsWith('hearth.') && name.endsWith('.node'))

/** What the loader that napi writes says where there is no library for a machine, and what helps there. */
const LOADER_ADVICE = 'Please try `npm i` again after removing both package-lock.json and node_modules directory.'
const OWN_ADVICE = 'Hearth has no binary for this machine: type npm run build in a checkout of it, which says what is missing.'

/** Puts our advice into the loader. */
function sayHowToBuild() {
  const loader = path.join(ROOT, 'native/index.js')
  fs.writeFileSync(loader, fs.readFileSync(loader, 'utf8').replace(LOADER_ADVICE, OWN_ADVICE))
}

async function nativeCore(kind) {
  const stamp = new Stamp('dist/.native-stamp', ['native/index.js', 'native/index.d.ts'])
  const sources = digest(NATIVE_SOURCES, kind, process.platform, process.arch)
  if (addon() && stamp.matches(sources)) return
  checkCompilers()
  const began = Date.now()
  const first = !fs.existsSync(path.join(TARGET, kind === 'dev' ? 'debug' : 'release'))
  say(
    first
      ? 'building the core: 6 to 8 minutes on 2 cores the first time, less on more; later only what has changed'
      : 'building the core: only what has changed',
  )
  const env = { ...process.env, ...(await cargoEnv()) }
  const cli = path.join(ROOT, 'node_modules/@napi-rs/cli/dist/cli.js')
  const args = [
    'build',
    '--platform',
    '--esm',
    '--manifest-path',
    'native/Cargo.toml',
    '--package-json-path',
    'package.json',
    '--output-dir',
    'native',
  ]
  if (kind === 'release') args.push('--release')
  run(process.execPath, [cli, ...args, '--', '--locked'], 'The core did not build', env)
  sayHowToBuild()
  stamp.write(sources)
  say(`the core took ${seconds(began)} s`)
}

const changed = (name) => fs.statSync(path.join(ROOT, name), { throwIfNoEntry: false })?.mtimeMs ?? 0

function typescript() {
  const stamp = new Stamp('dist/.ts-stamp', ['dist/cli/main.js', 'dist/cli/hearth.cjs'])
  const sources = digest(TS_SOURCES)
  // A program that is older than the loader of the core counts as out of date when it starts, and is loaded module by module.
  const isOlder = changed('dist/cli/program.cjs') < changed('native/index.js')
  if (stamp.matches(sources) && !isOlder) return
  const began = Date.now()
  // What a removed source left behind must not be found by an import.
  for (const name of fs.existsSync(path.join(ROOT, 'dist')) ? fs.readdirSync(path.join(ROOT, 'dist')) : []) {
    if (!name.startsWith('.')) fs.rmSync(path.join(ROOT, 'dist', name), { recursive: true })
  }
  run(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'ts/tsconfig.json'], 'TypeScript did not compile')
  fs.chmodSync(path.join(ROOT, 'dist/cli/main.js'), 0o755)
  run(process.execPath, [path.join(ROOT, 'dist/cli/write-bundle.js')], 'The program could not be put into one file')
  stamp.write(sources)
  say(`TypeScript took ${seconds(began)} s`)
}

const STEPS = ['npm', 'native', 'sandbox', 'sandboxes', 'ts']

try {
  const asked = process.argv.slice(2)
  const unknown = asked.find((step) => !STEPS.includes(step))
  if (unknown !== undefined) throw new SetupError(`unknown step ${unknown}: one of ${STEPS.join(', ')}`)
  const wanted = (step) => asked.length === 0 || asked.includes(step)
  if (wanted('npm')) npmPackages()
  if (wanted('native')) await nativeCore(profile())
  if (wanted('sandbox')) await isolatedVm()
  if (asked.includes('sandboxes')) await isolatedVms()
  if (wanted('ts')) typescript()
} catch (e) {
  if (!(e instanceof SetupError)) throw e
  console.error(`hearth set-up: ${e.message}`)
  process.exit(1)
}
