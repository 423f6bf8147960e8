// Says whether a product is up to date: a digest over the content of everything that it is made
// from.
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { ROOT } from './env.mjs'

/** Built things and other people's: never sources. */
const IGNORED = new Set(['node_modules', 'dist', 'target', '.git'])

function* files(file) {
  const stat = fs.statSync(file, { throwIfNoEntry: false })
  if (stat?.isFile()) yield file
  if (!stat?.isDirectory()) return
  for (const name of fs.readdirSync(file).sort()) if (!IGNORED.has(name)) yield* files(path.join(file, name))
}

/** Digest of the files and folders (paths relative to the checkout) and of any further words. */
export function digest(sources, ...words) {
  const hash = createHash('sha256').update(JSON.stringify(words))
  for (const source of sources) {
    for (const file of files(path.join(ROOT, source))) hash.update(`\0${path.relative(ROOT, file)}\0`).update(fs.readFileSync(file))
  }
  return hash.digest('hex')
}

/** A step's record of what it was last made from; it holds only while each product still exists. */
export class Stamp {
  constructor(file, products) {
    this.file = path.join(ROOT, file)
    this.products = products.map((p) => path.join(ROOT, p))
  }

  matches(value) {
    return this.products.every((p) => fs.existsSync(p)) && fs.existsSync(this.file) && fs.readFileSync(this.file, 'utf8') === value
  }

  write(value) {
    fs.mkdirSync(path.dirname(this.file), { recursive: true })
    fs.writeFileSync(this.file, value)
  }
}
