// Installs clients that are too heavy for every install, once a machine, into the cache.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { CACHE } from '../../../native/setup/env.mjs'
import { once } from '../../../native/setup/once.mjs'
import { digest } from '../../../native/setup/stamp.mjs'

/** What npm reads; no registry stands in any of them. */
const FILES = ['package.json', 'package-lock.json', '.npmrc']

/** How long an install may take, in milliseconds. */
const INSTALL_MS_MAX = 300_000

/** Where installed clients are, or why they are not. */
export type Installed = { readonly dir: string } | { readonly missing: string }

/** Runs npm in a folder; undefined where it did its work, else what it printed last. */
function npmInstall(dir: string): Promise<string | undefined> {
  // Nothing in these packages needs a script of its own: compiled parts are optional, binaries lie in packages of their platform.
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const child = spawn('npm', args, {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: INSTALL_MS_MAX,
    shell: process.platform === 'win32',
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      text = (text + data.toString()).slice(-500)
    })
  }
  return new Promise((resolve) => {
    child.once('error', (e) => resolve(String(e)))
    child.once('close', (code) => resolve(code === 0 ? undefined : text))
  })
}

/** The packages of the folder with that name beside this file, installed if need be. */
export async function clients(set: 'node20' | 'node22' | 'solc'): Promise<Installed> {
  const [needed, least] = set === 'node22' ? [[22, 13], '22.13'] : [[20, 20], '20.20']
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
  const [wantMajor, wantMinor] = needed as [number, number]
  if (major < wantMajor || (major === wantMajor && minor < wantMinor))
    return { missing: `Node ${least} is needed, this is ${process.versions.node}` }
  const source = path.join(import.meta.dirname, set)
  const key = digest(
    FILES.map((file) => `test/e2e/clients/${set}/${file}`),
    process.platform,
    process.arch,
  ).slice(0, 16)
  const dir = path.join(CACHE, `clients-${set}-${key}`)
  const made = path.join(dir, 'node_modules')
  let missing: string | undefined
  await once(made, `the clients of ${set}`, async () => {
    const partial = `${dir}.partial-${process.pid}`
    fs.rmSync(partial, { recursive: true, force: true })
    fs.mkdirSync(partial, { recursive: true })
    for (const file of FILES) fs.copyFileSync(path.join(source, file), path.join(partial, file))
    const failed = await npmInstall(partial)
    if (failed === undefined) {
      // A rename publishes it whole.
      fs.rmSync(dir, { recursive: true, force: true })
      fs.renameSync(partial, dir)
    } else {
      fs.rmSync(partial, { recursive: true, force: true })
      missing = `npm could not install them: ${failed.trim().split('\n').at(-1)}`
    }
  })
  return missing === undefined ? { dir } : { missing }
}
