// Built cores in the cache: a second clone of the same sources takes the core of the first, and
// needs neither a compiler nor minutes.
//
// A core is a folder `core-PROFILE-DIGEST` with the files that a build writes into native/ and
// their SHA-256 digests. It appears by a rename, so that a process that ends early leaves none.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { CACHE, ROOT, say } from './env.mjs'

/** Cores of one profile that the cache keeps, those used last: about 60 MB each. */
const CORES_KEPT_MAX = 4

/** Digests of the other files of the folder. */
const SUMS = 'sums.json'

const NATIVE = path.join(ROOT, 'native')

/** What a build of the core writes into native/. */
const isProduct = (name) =>
  name === 'index.js' || name === 'index.d.ts' || (name.startsWith(`hearth.linux-${process.arch}-`) && name.endsWith('.node'))

const folder = (profile, sources) => path.join(CACHE, `core-${profile}-${sources}`)

const sumOf = (file) => createHash('sha256').update(fs.readFileSync(file)).digest('hex')

/** The digests of a stored core by file; undefined where a file is missing or has other bytes. */
function wholeSums(stored) {
  try {
    const sums = JSON.parse(fs.readFileSync(path.join(stored, SUMS), 'utf8'))
    const names = Object.keys(sums)
    const isWhole = names.length > 0 && names.every((name) => isProduct(name) && sumOf(path.join(stored, name)) === sums[name])
    return isWhole ? sums : undefined
  } catch {
    return undefined
  }
}

/** Copies a file so that no reader of the old one sees it change: a node may have it mapped. */
function replace(from, to) {
  const part = `${to}.${process.pid}`
  fs.copyFileSync(from, part)
  fs.renameSync(part, to)
}

/** Whether the cache has an entry for these sources, whole or not. */
export const hasCore = (profile, sources) => fs.existsSync(path.join(folder(profile, sources), SUMS))

/**
 * Puts the stored core of these sources into native/; false where there is none. A damaged one is
 * removed.
 */
export function takeCore(profile, sources, into = NATIVE) {
  const stored = folder(profile, sources)
  if (!fs.existsSync(stored)) return false
  const sums = wholeSums(stored)
  if (sums === undefined) {
    say(`${stored} is damaged and was removed`)
    fs.rmSync(stored, { recursive: true, force: true })
    return false
  }
  for (const name of Object.keys(sums)) replace(path.join(stored, name), path.join(into, name))
  const now = new Date()
  fs.utimesSync(stored, now, now)
  say(`core (${profile}): taken from ${stored}, built from the same sources`)
  return true
}

/** Stores the core in native/. Without it the next clone builds its own: a failure is reported. */
export function keepCore(profile, sources, from = NATIVE) {
  const stored = folder(profile, sources)
  const part = `${stored}.${process.pid}`
  try {
    fs.mkdirSync(part, { recursive: true })
    const names = fs.readdirSync(from).filter(isProduct)
    for (const name of names) fs.copyFileSync(path.join(from, name), path.join(part, name))
    const sums = Object.fromEntries(names.map((name) => [name, sumOf(path.join(part, name))]))
    fs.writeFileSync(path.join(part, SUMS), JSON.stringify(sums))
    fs.rmSync(stored, { recursive: true, force: true })
    fs.renameSync(part, stored)
    prune(profile)
  } catch (e) {
    fs.rmSync(part, { recursive: true, force: true })
    say(`the core was not kept for other clones: ${e.message}`)
  }
}

function prune(profile) {
  const cores = fs
    .readdirSync(CACHE)
    .filter((name) => name.startsWith(`core-${profile}-`))
    .map((name) => path.join(CACHE, name))
    .map((file) => ({ file, used: fs.statSync(file).mtimeMs }))
    .toSorted((a, b) => b.used - a.used)
  for (const { file } of cores.slice(CORES_KEPT_MAX)) fs.rmSync(file, { recursive: true, force: true })
}
