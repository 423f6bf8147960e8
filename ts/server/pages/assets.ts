// The files of the explorer, read once: a request names one of them exactly, and no path is ever
// joined.
import fs from 'node:fs'
import path from 'node:path'
import { ASSETS } from './route.ts'

/** Where the build puts the page, beside the compiled program. */
const FOLDER = path.join(import.meta.dirname, '../../explorer')

/** Files that are read: the build makes about fifteen. */
const FILES_MAX = 64

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** A file with the encodings that the build made of it. */
export interface Asset {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer | undefined
  readonly br: Buffer | undefined
}

/** The page and its files. */
export interface Assets {
  /** The HTML of every page. */
  readonly index: string
  /** By path, `/_/assets/NAME-HASH.js`. */
  readonly files: ReadonlyMap<string, Asset>
}

/** The page was not built. */
export class NotBuilt extends Error {
  override name = 'NotBuilt'
}

/** Reads the files. Throws `NotBuilt` where there are none. */
export function readAssets(folder = FOLDER): Assets {
  const read = (name: string): Buffer | undefined => {
    try {
      return fs.readFileSync(path.join(folder, name))
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw e
    }
  }
  const index = read('index.html')
  if (index === undefined) throw new NotBuilt('the explorer is not built: npm run build')
  const names = fs.readdirSync(path.join(folder, 'assets')).filter((name) => path.extname(name) in TYPES)
  const files = new Map<string, Asset>()
  for (const name of names.slice(0, FILES_MAX)) {
    const plain = read(`assets/${name}`)
    if (plain === undefined) continue
    const type = TYPES[path.extname(name)] as string
    files.set(`${ASSETS}${name}`, { type, plain, gzip: read(`assets/${name}.gz`), br: read(`assets/${name}.br`) })
  }
  return { index: index.toString(), files }
}
