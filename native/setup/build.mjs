// Makes everything that is missing or out of date: npm packages, RocksDB and libclang, the native
// core, isolated-vm, dist/.
//
// node native/setup/build.mjs          all of it (what `npm start` and `npm run build` call first)
//   node native/setup/build.mjs npm      npm packages alone
//   node native/setup/build.mjs web      the explorer's page alone
// node native/setup/build.mjs sandboxes   isolated-vm for every supported version of Node, for a
//   package
//   node native/setup/build.mjs linux-arm64-gnu   core and isolated-vm for arm64, for a package
//
// Fetching and compiling overlap: npm packages, isolated-vm, and libclang with RocksDB are made at
// the same time, each in a process of its own; the core comes after them, since it needs the first
// and links the last. isolated-vm and the explorer have a low priority: they take the processor
// time that the others leave, at the end of RocksDB and of the core.
//
// HEARTH_PROFILE=dev builds the core with cargo's dev profile. Imports Node's own modules alone,
// since it runs before anything is installed.
import './require-node.mjs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { cargoEnv } from './cargo.mjs'
import { hasCore, keepCore, takeCore } from './core-store.mjs'
import { checkCross, crossEnv, MACHINES } from './cross.mjs'
import { ROOT, SetupError, TARGET } from './env.mjs'
import { hasLibrary, isolatedVm, isolatedVms, isolatedVmsFor } from './isolated-vm.mjs'
import { timed } from './progress.mjs'
import { checkWhole } from './rocksdb.mjs'
import { digest, Stamp } from './stamp.mjs'
import { checkCompilers, checkNpm, checkPlatform } from './tools.mjs'

/**
 * Profiles of Cargo.toml that the core is built with: `release`, or `dev`, which builds sooner
 * after a change and runs slower.
 */
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
/**
 * The explorer's page is a step of its own: a change of it makes no new program, and a change of
 * the program no new page.
 */
const WEB = 'web'
const WEB_SOURCES = ['ts/web', 'ts/explore', 'package-lock.json']
const tsSources = () => [
  ...fs
    .readdirSync(path.join(ROOT, 'ts'))
    .filter((name) => name !== WEB)
    .map((name) => `ts/${name}`),
  'native/index.d.ts',
  'tsconfig.json',
  'package-lock.json',
]

function profile() {
  const asked = process.env.HEARTH_PROFILE ?? 'release'
  if (!PROFILES.includes(asked)) throw new SetupError(`HEARTH_PROFILE is ${asked}: it is one of ${PROFILES.join(', ')}.`)
  return asked
}

/** The processes that run at the moment; they end with this one. */
const running = new Set()

/**
 * Runs a command with its output on standard error, which is for progress; throws `failure` where
 * it fails.
 */
async function run(command, args, failure, env = process.env, priority = os.constants.priority.PRIORITY_NORMAL) {
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 2, 2] })
  // A process that could not be spawned has no number; 0 would be this process.
  if (child.pid !== undefined && priority !== os.constants.priority.PRIORITY_NORMAL) os.setPriority(child.pid, priority)
  running.add(child)
  try {
    const [status, signal] = await once(child, 'exit')
    if (status !== 0) throw new SetupError(`${failure} (${signal ?? `exit code ${status}`}). What went wrong stands above.`)
  } catch (e) {
    if (e instanceof SetupError) throw e
    throw new SetupError(`${failure} (${e.message}).`)
  } finally {
    running.delete(child)
  }
}

/** Runs a script of native/setup in a process of its own. */
const script = (name, args, failure, priority) =>
  run(process.execPath, [path.join(import.meta.dirname, name), ...args], failure, process.env, priority)

/** The priority of steps that nothing waits for until the end. */
const LOW = os.constants.priority.PRIORITY_BELOW_NORMAL

async function npmPackages() {
  const stamp = new Stamp('node_modules/.hearth-stamp', ['node_modules/typescript/package.json'])
  const sources = digest(['package.json', 'package-lock.json', '.npmrc'], process.versions.modules)
  if (stamp.matches(sources)) return
  checkNpm()
  // Not `npm ci`: it refuses a lock file without the optional packages of other platforms, which a
  // registry may not have.
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  await timed('npm packages', () => run('npm', args, 'npm install failed'))
  stamp.write(sources)
}

/**
 * The names that napi gives the library of this machine are many; one file of ours is the sign that
 * it is there.
 */
const addon = () =>
  fs.readdirSync(path.join(ROOT, 'native')).find((name) => name.startsWith(`hearth.linux-${process.arch}-`) && name.endsWith('.node'))

/** Where the library of this machine lies, which a build has just written. */
function addonPath() {
  const name = addon()
  if (name === undefined) throw new SetupError('The build of the core wrote no library into native/.')
  return path.join(ROOT, 'native', name)
}

/** What the loader that napi writes says where there is no library for a machine. */
const LOADER_ADVICE = /`Cannot find native binding\. ` \+\n +`npm has a bug [^`]+` \+\n +'Please try [^']+',/

/** What it says instead: which systems there are binaries for, and what helps on this one. */
const OWN_ADVICE = `\`Hearth has no binary for \${process.platform}-\${process.arch}\${isMusl() ? ' with musl' : ''}: \` +
        (process.platform === 'linux' && !isMusl()
          ? 'the package hearth-core-linux-' + process.arch + '-gnu is not installed, or its library does not load (see the cause). Install it beside hearth, without --omit=optional, on a system with glibc 2.34 or newer; in a checkout, type npm run build.'
          : 'it runs on Linux with glibc, on x64 and arm64. On macOS, Windows or Alpine, run it in a container (docs/examples/Containerfile) or a virtual machine.'),`

/** Puts our advice into the loader. */
function sayWhereItRuns() {
  const loader = path.join(ROOT, 'native/index.js')
  const text = fs.readFileSync(loader, 'utf8')
  if (!LOADER_ADVICE.test(text))
    throw new SetupError('The loader that napi wrote has another message than native/setup/build.mjs replaces.')
  fs.writeFileSync(
    loader,
    text.replace(LOADER_ADVICE, () => OWN_ADVICE),
  )
}

/** What the core of a profile is made from, and the record of the last build. */
function coreState(kind) {
  // Flags of a release's build write other names of folders into the library.
  const sources = digest(NATIVE_SOURCES, kind, process.platform, process.arch, process.env.CARGO_ENCODED_RUSTFLAGS ?? '')
  const stamp = new Stamp('dist/.native-stamp', ['native/index.js', 'native/index.d.ts'])
  const isCurrent = addon() !== undefined && stamp.matches(sources)
  return { sources, stamp, isCurrent, isStored: hasCore(kind, sources) }
}

/** The command that builds the core and writes its loader and typings. */
function napiBuild() {
  const cli = path.join(ROOT, 'node_modules/@napi-rs/cli/dist/cli.js')
  const places = ['--manifest-path', 'native/Cargo.toml', '--package-json-path', 'package.json', '--output-dir', 'native']
  return [cli, 'build', '--platform', '--esm', '--no-const-enum', ...places]
}

async function nativeCore(kind) {
  const { sources, stamp, isCurrent } = coreState(kind)
  if (isCurrent) return
  if (takeCore(kind, sources)) return stamp.write(sources)
  // A stored core that proved damaged has kept set-up from looking for the compilers.
  checkCompilers()
  const first = !fs.existsSync(path.join(TARGET, kind === 'dev' ? 'debug' : kind))
  const env = { ...process.env, ...(await cargoEnv()) }
  const args = [...napiBuild(), ...(kind === 'dev' ? [] : ['--release']), '--', '--locked']
  const build = () => run(process.execPath, args, 'The core did not build', env)
  await timed(`core (${kind})`, build, first ? {} : { keep: false, note: ', only what has changed' })
  checkWhole(addonPath())
  sayWhereItRuns()
  stamp.write(sources)
  keepCore(kind, sources)
}

/** Builds the binaries for another machine into native/. */
async function cross(name) {
  const machine = MACHINES[name]
  checkCross(machine)
  await npmPackages()
  const env = { ...process.env, CARGO_TARGET_DIR: TARGET, ...(await crossEnv(machine)) }
  const args = [...napiBuild(), '--release', '--target', machine.target, '--', '--locked']
  const build = () => run(process.execPath, args, `The core for ${name} did not build`, env)
  await timed(`core (release)`, build, { keep: false, note: ` for ${name}` })
  checkWhole(path.join(ROOT, `native/hearth.${name}.node`), `${machine.tools}-nm`)
  sayWhereItRuns()
  await isolatedVmsFor(machine)
}

const changed = (name) => fs.statSync(path.join(ROOT, name), { throwIfNoEntry: false })?.mtimeMs ?? 0

async function typescript() {
  const stamp = new Stamp('dist/.ts-stamp', ['dist/cli/main.js', 'dist/cli/hearth.cjs'])
  const sources = digest(tsSources())
  // A program that is older than the loader of the core counts as out of date when it starts, and
  // is loaded module by module.
  const isOlder = changed('dist/cli/program.cjs') < changed('native/index.js')
  if (stamp.matches(sources) && !isOlder) return
  await timed('TypeScript', compile)
  stamp.write(sources)
}

async function compile() {
  // What a removed source left behind must not be found by an import. The explorer, which may be
  // under way beside this, keeps what it has made so far.
  for (const name of fs.existsSync(path.join(ROOT, 'dist')) ? fs.readdirSync(path.join(ROOT, 'dist')) : []) {
    if (!name.startsWith('.') && !name.startsWith(EXPLORER)) fs.rmSync(path.join(ROOT, 'dist', name), { recursive: true })
  }
  await run(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'ts/tsconfig.json'], 'TypeScript did not compile')
  fs.chmodSync(path.join(ROOT, 'dist/cli/main.js'), 0o755)
  await run(process.execPath, [path.join(ROOT, 'dist/cli/write-bundle.js')], 'The program could not be put into one file')
}

/** Folder of the page in dist/. */
const EXPLORER = 'explorer'

async function web() {
  const stamp = new Stamp('dist/.web-stamp', [`dist/${EXPLORER}/index.html`])
  const sources = digest(WEB_SOURCES)
  if (stamp.matches(sources)) return
  await timed('the explorer', bundle)
  stamp.write(sources)
}

async function bundle() {
  await run(
    process.execPath,
    [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'ts/web/tsconfig.json'],
    'The explorer did not compile',
  )
  await run(process.execPath, [path.join(ROOT, 'ts/web/build.mjs')], 'The explorer could not be bundled')
}

const STEPS = ['npm', 'native', 'sandbox', 'sandboxes', 'ts', 'web', ...Object.keys(MACHINES)]

/**
 * Builds everything. The child processes publish their products in the cache, where the build of
 * the core finds them.
 */
async function everything(kind) {
  const { isCurrent, isStored } = coreState(kind)
  const isMade = isCurrent || isStored
  if (!isMade) checkCompilers()
  const sandbox = hasLibrary() ? undefined : script('build.mjs', ['sandbox'], 'isolated-vm failed', LOW)
  // A failure is reported where the others are awaited.
  sandbox?.catch(() => undefined)
  const tools = isMade ? undefined : script('cargo.mjs', ['--prepare'], 'RocksDB could not be made ready')
  await Promise.all([npmPackages(), tools])
  // Beside the core, which has idle processors at its end.
  const page = isMade ? undefined : script('build.mjs', [WEB], 'The explorer failed', LOW)
  page?.catch(() => undefined)
  await nativeCore(kind)
  await typescript()
  await (page ?? web())
  await sandbox
}

try {
  checkPlatform()
  const asked = process.argv.slice(2)
  const unknown = asked.find((step) => !STEPS.includes(step))
  if (unknown !== undefined) throw new SetupError(`unknown step ${unknown}: one of ${STEPS.join(', ')}`)
  if (asked.length === 0) await everything(profile())
  if (asked.includes('npm')) await npmPackages()
  if (asked.includes('native')) await nativeCore(profile())
  if (asked.includes('sandbox')) await isolatedVm()
  if (asked.includes('sandboxes')) await isolatedVms()
  if (asked.includes('ts')) await typescript()
  if (asked.includes('web')) await web()
  for (const name of Object.keys(MACHINES)) if (asked.includes(name)) await cross(name)
} catch (e) {
  for (const child of running) child.kill()
  if (!(e instanceof SetupError)) throw e
  console.error(`hearth set-up: ${e.message}`)
  process.exit(1)
}
