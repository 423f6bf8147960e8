// Builds isolated-vm, in which JavaScript tracers run, from the sources in its npm package. No binary is fetched.
//
// It is built once a machine and Node version, into the cache, and copied beside the core's library. It is never a reason to fail: without
// it the node starts, and refuses JavaScript tracers with the sentence of `missing`.
import fs from 'node:fs'
import path from 'node:path'
import { CACHE, output, ROOT, say } from './env.mjs'
import { once } from './once.mjs'

/** The version for each major version of Node; each is built for the V8 of its own. */
const VERSIONS = { 20: '5.0.4', 22: '6.1.2', 24: '7.0.1' }

const major = Number(process.versions.node.split('.')[0])

/** The library for the Node that runs this; its name has the ABI, so that another Node finds none rather than a wrong one. */
export const LIBRARY = path.join(ROOT, 'native', `isolated-vm-${process.versions.modules}.node`)

/** A reason why it cannot be built, with what to type. */
class Missing extends Error {}

/** The folder that holds include/node of the Node that runs this: a build against another one's headers would crash. */
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

function version() {
  const known = VERSIONS[major]
  if (known !== undefined) return known
  throw new Missing(`there is no version of it for Node ${major}. Use Node ${Object.keys(VERSIONS).join(', ')}`)
}

function build(wanted, nodedir, dir) {
  const partial = `${dir}.partial-${process.pid}`
  fs.rmSync(partial, { recursive: true, force: true })
  fs.mkdirSync(partial, { recursive: true })
  const attempt = (what, remedy, command, args, options) => {
    if (output(command, args, { cwd: partial, stdio: ['ignore', 'pipe', 'pipe'], ...options }) === undefined) {
      fs.rmSync(partial, { recursive: true, force: true })
      throw new Missing(`${what}. ${remedy}`)
    }
  }
  attempt('its package could not be fetched', 'Check npm’s registry', 'npm', ['pack', `isolated-vm@${wanted}`, '--silent'])
  attempt('its package could not be unpacked', 'Type: sudo apt-get install -y tar', 'tar', ['xzf', `isolated-vm-${wanted}.tgz`])
  // npm's own node-gyp, with the headers that are there, so that it has nothing to fetch.
  attempt('it did not compile', 'Type: sudo apt-get install -y python3 build-essential', 'npm', ['run', 'rebuild'], {
    cwd: path.join(partial, 'package'),
    env: { ...process.env, npm_config_nodedir: nodedir, npm_config_build_from_source: 'true' },
  })
  // Without its debug information it is a tenth of the size; where there is no strip, it works all the same.
  output('strip', ['--strip-debug', path.join(partial, 'package/build/Release/isolated_vm.node')])
  fs.mkdirSync(dir, { recursive: true })
  const library = path.join(dir, 'isolated_vm.node')
  fs.copyFileSync(path.join(partial, 'package/build/Release/isolated_vm.node'), `${library}.${process.pid}`)
  // A rename publishes it whole; the same by another process is equally good.
  fs.renameSync(`${library}.${process.pid}`, library)
  fs.rmSync(partial, { recursive: true, force: true })
}

/** Makes the library where it is missing; says in one line why it cannot, and what to type. It never fails. */
export async function isolatedVm(target = LIBRARY) {
  if (fs.existsSync(target)) return
  try {
    const wanted = version()
    const nodedir = headers()
    const dir = path.join(CACHE, `isolated-vm-${wanted}-node${process.versions.node}-${process.platform}-${process.arch}`)
    const library = path.join(dir, 'isolated_vm.node')
    await once(library, 'isolated-vm', async () => {
      const began = Date.now()
      say('compiling isolated-vm, in which JavaScript tracers run, once for this machine (about 45 s on 2 cores)')
      build(wanted, nodedir, dir)
      say(`isolated-vm took ${Math.round((Date.now() - began) / 1000)} s`)
    })
    fs.copyFileSync(library, `${target}.${process.pid}`)
    fs.renameSync(`${target}.${process.pid}`, target)
  } catch (e) {
    const why = e instanceof Missing ? e.message : String(e.message ?? e)
    say(`no JavaScript tracers: isolated-vm is not there, and ${why}, then run npm run build again. All else works.`)
  }
}
