// Builds isolated-vm, in which JavaScript tracers run, from the sources in its npm package. No
// binary of it is fetched.
//
// Each library fits one ABI of Node. `npm run build` builds the one for the Node that runs it;
// packing builds those of all supported versions of Node, each with that Node's own headers. A
// library is built once a machine, into the cache, and copied beside the core's library. Set-up
// never fails for want of it: the node starts without it and refuses JavaScript tracers.
import fs from 'node:fs'
import path from 'node:path'
import { compilerEnv, librariesOf } from './cross.mjs'
import { CACHE, output, ROOT, say } from './env.mjs'
import { once } from './once.mjs'
import { PINS, pinRefusal } from './pins.mjs'
import { timed } from './progress.mjs'

/**
 * By major version of Node: the version of isolated-vm that fits its V8, its ABI, and the release
 * that packing builds it with.
 */
export const ENGINES = {
  20: { version: '5.0.4', abi: 115, node: '20.20.2' },
  22: { version: '6.1.2', abi: 127, node: '22.23.3' },
  24: { version: '7.0.1', abi: 137, node: '24.21.0' },
}

const libraryFor = (abi) => path.join(ROOT, 'native', `isolated-vm-${abi}.node`)

/**
 * The library for the Node that runs this; its name has the ABI, so that another Node finds none
 * rather than a wrong one.
 */
export const LIBRARY = libraryFor(process.versions.modules)

/** The file beside a library that names the version of isolated-vm that it is. */
const stampOf = (library) => `${library}.version`

/** Whether a library is there, made from this version: it is made again for another one. */
function isMade(library, version) {
  const stamp = stampOf(library)
  return fs.existsSync(library) && fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8').trim() === version
}

/** The engine of the Node that runs this; undefined where there is none. */
const ownEngine = () => ENGINES[process.versions.node.split('.')[0]]

/** Whether the library of the Node that runs this is there, in the version that is pinned. */
export const hasLibrary = (target = LIBRARY) => isMade(target, ownEngine()?.version)

/** A reason why it cannot be built, with what to type. */
class Missing extends Error {}

/**
 * The folder that holds include/node of the Node that runs this: a build against another one's
 * headers would crash.
 */
function headers() {
  const folder = path.dirname(path.dirname(fs.realpathSync(process.execPath)))
  const found = [folder, '/usr', '/usr/local'].find((dir) => {
    const file = path.join(dir, 'include/node/node_version.h')
    if (!fs.existsSync(file)) return false
    const text = fs.readFileSync(file, 'utf8')
    const part = (name) => new RegExp(`#define NODE_${name}_VERSION (\\d+)`).exec(text)?.[1]
    return [part('MAJOR'), part('MINOR'), part('PATCH')].join('.') === process.versions.node
  })
  if (found !== undefined) return found
  throw new Missing(
    `the headers of Node ${process.versions.node} are missing (include/node beside its bin). Install Node from nodejs.org or with nvm`,
  )
}

/** Runs a command in a folder; throws `Missing` where it fails. */
function attempt(what, remedy, cwd, command, args, env = process.env) {
  if (output(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }) === undefined) throw new Missing(`${what}. ${remedy}`)
}

/** Fetches a package from npm, checks its digest and unpacks it to `package` in a folder. */
export function fetchPackage(name, version, dir, pins = PINS) {
  const file = path.join(dir, `${name}-${version}.tgz`)
  attempt(`the package ${name} ${version} could not be fetched`, 'Check npm’s registry', dir, 'npm', [
    'pack',
    `${name}@${version}`,
    '--silent',
    // Flags of an `npm pack` around set-up reach this one through the environment.
    '--pack-destination=.',
    '--no-dry-run',
  ])
  const refusal = pinRefusal(file, pins)
  if (refusal !== undefined) throw new Missing(`${refusal}. Check npm’s registry`)
  attempt(`${file} could not be unpacked`, 'Type: sudo apt-get install -y tar', dir, 'tar', ['xzf', file])
  fs.rmSync(file)
}

/** Works in a folder that is gone afterwards. */
function inFolder(partial, work) {
  fs.rmSync(partial, { recursive: true, force: true })
  fs.mkdirSync(partial, { recursive: true })
  try {
    return work(partial)
  } finally {
    fs.rmSync(partial, { recursive: true, force: true })
  }
}

/** The list of sources of a target, and each of them, in `binding.gyp`. */
const SOURCES = /'sources': \[([^\]]*)\]/g
const SOURCE = /['"]([^'"]+\.cc)['"]/g

/** Its flag for debug information, which is stripped from the library anyway. */
const DEBUG_FLAG = "'-g', "

/**
 * Rewrites `binding.gyp` in the folder of the package so that each target is one file that includes
 * its sources. The headers of V8 take most of the compiler's time, and each source includes them.
 */
export function unite(dir) {
  const file = path.join(dir, 'binding.gyp')
  const text = fs.readFileSync(file, 'utf8')
  const united = text.replace(SOURCES, (_, list) => {
    const names = [...list.matchAll(SOURCE)].map(([, name]) => name)
    // What extends classes of V8, which has no run-time type information, is a target of its own
    // that is compiled without it; the list of the other target names it too, for Windows.
    const plain = names.filter((name) => !name.endsWith('_nortti.cc'))
    const unit = plain.length === 0 ? 'unit_nortti.cc' : 'unit.cc'
    const included = plain.length === 0 ? names : plain
    fs.writeFileSync(path.join(dir, unit), included.map((name) => `#include "${name}"\n`).join(''))
    return `'sources': ['${unit}']`
  })
  const isKnown = text.includes(DEBUG_FLAG) && ['unit.cc', 'unit_nortti.cc'].every((name) => united.includes(`'${name}'`))
  if (!isKnown) throw new Missing('its binding.gyp has another form than native/setup/isolated-vm.mjs rewrites. Report this')
  fs.writeFileSync(file, united.replace(DEBUG_FLAG, ''))
}

/**
 * Builds a version of isolated-vm with the Node at `program` and the headers below `nodedir`, into
 * a folder; for another processor where there is a `machine`.
 */
function build(version, { program, nodedir, machine }, dir) {
  inFolder(`${dir}.partial-${process.pid}`, (partial) => {
    fetchPackage('isolated-vm', version, partial)
    unite(path.join(partial, 'package'))
    // npm's own node-gyp, with the headers that are there, so that it has nothing to fetch. npm
    // runs under the first node on the PATH.
    attempt(
      'it did not compile',
      'Type: sudo apt-get install -y python3 build-essential',
      path.join(partial, 'package'),
      'npm',
      ['run', 'rebuild'],
      {
        ...process.env,
        PATH: `${path.dirname(program)}${path.delimiter}${process.env.PATH ?? ''}`,
        npm_config_nodedir: nodedir,
        npm_config_build_from_source: 'true',
        ...(machine && { ...compilerEnv(machine), npm_config_arch: machine.arch }),
      },
    )
    const made = path.join(partial, 'package/build/Release/isolated_vm.node')
    // Without its debug information it is a tenth of the size; where there is no strip, it works
    // all the same.
    output(machine ? `${machine.tools}-strip` : 'strip', ['--strip-debug', made])
    publish(made, path.join(dir, 'isolated_vm.node'))
  })
}

/**
 * Copies a file into place whole: a rename publishes it, and the same by another process is equally
 * good.
 */
function publish(from, to) {
  fs.mkdirSync(path.dirname(to), { recursive: true })
  fs.copyFileSync(from, `${to}.${process.pid}`)
  fs.renameSync(`${to}.${process.pid}`, to)
}

/**
 * Puts the library of one version of Node at `target`, built where the cache does not have it.
 * `nodeOf` says which Node builds it.
 */
async function provide({ version }, node, nodeOf, target, arch = process.arch) {
  const dir = path.join(CACHE, `isolated-vm-${version}-node${node}-${process.platform}-${arch}`)
  const library = path.join(dir, 'isolated_vm.node')
  await once(library, 'isolated-vm', async () => {
    const found = await nodeOf()
    const note = `, for JavaScript tracers under Node ${node}, once for this machine`
    await timed('isolated-vm', () => build(version, found, dir), { note })
  })
  // Without a stamp while the library changes: whatever ends this, it is made again.
  fs.rmSync(stampOf(target), { force: true })
  publish(library, target)
  fs.writeFileSync(stampOf(target), `${version}\n`)
}

const reasonOf = (e) => (e instanceof Missing ? e.message : String(e.message ?? e))

/**
 * Makes the library of the Node that runs this where it is missing; says in one line why it cannot,
 * and what to type. It never fails.
 */
export async function isolatedVm(target = LIBRARY) {
  if (hasLibrary(target)) return
  const engine = ownEngine()
  try {
    if (engine === undefined)
      throw new Missing(
        `there is no version of it for Node ${process.versions.node.split('.')[0]}. Use Node ${Object.keys(ENGINES).join(', ')}`,
      )
    await provide(engine, process.versions.node, () => ({ program: process.execPath, nodedir: headers() }), target)
  } catch (e) {
    const remedy = `${reasonOf(e)}, then run npm run build again`
    if (!fs.existsSync(target)) say(`no JavaScript tracers: isolated-vm is not there, and ${remedy}. Everything else works.`)
    else say(`JavaScript tracers run in the isolated-vm of an earlier build: isolated-vm ${engine?.version} is not there, and ${remedy}.`)
  }
}

/**
 * The folder of a release of Node out of npm, fetched into the cache where it is not there; throws
 * where it cannot be had.
 */
export async function nodeRelease(version) {
  if (process.platform !== 'linux') throw new Missing('it is built for other versions of Node on Linux only')
  const name = `node-linux-${process.arch}`
  const dir = path.join(CACHE, `${name}-${version}`)
  await once(path.join(dir, 'package.json'), `Node ${version}`, async () => {
    say(`fetching Node ${version} into the cache`)
    inFolder(`${dir}.partial-${process.pid}`, (partial) => {
      fetchPackage(name, version, partial)
      fs.rmSync(dir, { recursive: true, force: true })
      fs.renameSync(path.join(partial, 'package'), dir)
    })
  })
  return dir
}

/**
 * Makes the libraries of all supported versions of Node, for a package; says in a line which it
 * cannot make, and why.
 */
export async function isolatedVms() {
  await isolatedVm()
  for (const engine of Object.values(ENGINES)) {
    const target = libraryFor(engine.abi)
    if (isMade(target, engine.version)) continue
    try {
      const nodeOf = async () => {
        const dir = await nodeRelease(engine.node)
        return { program: path.join(dir, 'bin/node'), nodedir: dir }
      }
      await provide(engine, engine.node, nodeOf, target)
    } catch (e) {
      say(`no JavaScript tracers for Node ${engine.node} in the package: ${reasonOf(e)}.`)
    }
  }
}

/**
 * Makes the libraries of all supported versions of Node for another machine; throws where one
 * cannot be made.
 */
export async function isolatedVmsFor(machine) {
  for (const { version, abi, node } of Object.values(ENGINES)) {
    const nodeOf = async () => {
      const dir = await nodeRelease(node)
      return { program: path.join(dir, 'bin/node'), nodedir: dir, machine }
    }
    await provide({ version }, node, nodeOf, path.join(librariesOf(machine), `isolated-vm-${abi}.node`), machine.arch)
  }
}
