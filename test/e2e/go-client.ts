// go-ethereum's RPC client as a command: built once per machine if Go and the module are available,
// and kept in the cache.
import { spawnSync } from 'node:child_process'
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { CACHE } from '../../native/setup/env.mjs'

const MODULE = 'github.com/ethereum/go-ethereum'

/** The release whose client is tested, the one that everything else is compared with. */
const VERSION = 'v1.17.0'

const SOURCE = path.join(import.meta.dirname, 'go-client/main.go')

/** The command, or why there is none. */
export type GoClient = { readonly command: string } | { readonly missing: string }

/** Finds the client; where it is not built yet, `build` says whether to, which takes a minute. */
export function goClient(build: boolean): GoClient {
  const source = fs.readFileSync(SOURCE)
  const key = crypto.createHash('sha256').update(VERSION).update(source).digest('hex').slice(0, 16)
  const command = path.join(CACHE, `go-client-${key}`)
  if (fs.existsSync(command)) return { command }
  const cache = spawnSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' })
  if (cache.status !== 0) return { missing: 'Go is not here' }
  const module = path.join(cache.stdout.trim(), `${MODULE}@${VERSION}`)
  if (!fs.existsSync(module)) return { missing: `${MODULE} ${VERSION} is not in the cache of Go's modules` }
  if (!build) return { missing: "geth's client is built in full mode (npm run test:full)" }
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-go-client-'))
  try {
    fs.writeFileSync(path.join(dir, 'go.mod'), `module client\n\ngo 1.24.0\n\nrequire ${MODULE} ${VERSION}\n`)
    fs.writeFileSync(path.join(dir, 'main.go'), source)
    const partial = path.join(dir, 'client')
    // The module is in Go's cache; go.mod files of dependencies that are not needed here may still
    // be looked up.
    const env = { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' }
    const built = spawnSync('go', ['build', '-trimpath', '-o', partial, '.'], { cwd: dir, encoding: 'utf8', env })
    if (built.status !== 0) throw new Error(`geth's client does not build:\n${built.stderr}`)
    fs.mkdirSync(CACHE, { recursive: true })
    // Another run may do the same at the same time: the file under this name is always complete.
    fs.copyFileSync(partial, `${command}.${process.pid}`)
    fs.renameSync(`${command}.${process.pid}`, command)
    return { command }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
