// Bundles the explorer into dist/explorer: the page, and its files under names that hold a digest,
// each beside its gzip and brotli.
//
//   node ts/web/build.mjs
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { rolldown } from 'rolldown'

const ROOT = path.resolve(import.meta.dirname, '../..')
const OUT = path.join(ROOT, 'dist/explorer')
/** Written beside the folder and renamed: a node that runs reads one build or the other. */
const PARTIAL = `${OUT}.partial-${process.pid}`
const ASSETS = '/_/assets/'

/** Bytes of everything that the first page needs, in gzip. */
const FIRST_LOAD_BYTES_MAX = 60 * 1024

/** The styles in one file, in the order of their names. */
function styles() {
  const folder = path.join(import.meta.dirname, 'styles')
  const files = fs.readdirSync(folder).sort()
  const own = files.map((name) => fs.readFileSync(path.join(folder, name), 'utf8'))
  return own
    .join('\n')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s+/gm, '')
    .replaceAll(/\n+/g, '\n')
}

/** Writes a file of the page with its encodings; gives the bytes of its gzip. */
function write(name, text) {
  const file = path.join(PARTIAL, 'assets', name)
  const gzip = zlib.gzipSync(text, { level: 9 })
  fs.writeFileSync(file, text)
  fs.writeFileSync(`${file}.gz`, gzip)
  fs.writeFileSync(`${file}.br`, zlib.brotliCompressSync(text, { params: { [zlib.constants.BROTLI_PARAM_SIZE_HINT]: text.length } }))
  return gzip.length
}

const hashed = (base, extension, text) => `${base}-${createHash('sha256').update(text).digest('base64url').slice(0, 8)}${extension}`

const bundle = await rolldown({
  input: {
    main: path.join(import.meta.dirname, 'main.tsx'),
    worker: path.join(import.meta.dirname, 'tools/artifact-worker.ts'),
  },
  platform: 'browser',
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  onLog(level, log) {
    if (level === 'warn') console.error(log.message)
  },
})
const { output } = await bundle.generate({
  format: 'es',
  minify: true,
  entryFileNames: '[name]-[hash].js',
  chunkFileNames: '[name]-[hash].js',
})
await bundle.close()

fs.rmSync(PARTIAL, { recursive: true, force: true })
fs.mkdirSync(path.join(PARTIAL, 'assets'), { recursive: true })
const chunks = output.filter((part) => part.type === 'chunk')
const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
const sizes = new Map(chunks.map((chunk) => [chunk.fileName, write(chunk.fileName, chunk.code)]))
const style = styles()
const icon = fs.readFileSync(path.join(import.meta.dirname, 'icon.svg'), 'utf8')
const names = { STYLE: hashed('style', '.css', style), ICON: hashed('icon', '.svg', icon), SCRIPT: '', WORKER: '' }
const entryOf = (name) => chunks.find((chunk) => chunk.isEntry && chunk.name === name)
const entry = entryOf('main')
names.SCRIPT = entry.fileName
names.WORKER = entryOf('worker').fileName
let index = fs.readFileSync(path.join(import.meta.dirname, 'index.html'), 'utf8')
for (const [mark, name] of Object.entries(names)) index = index.replace(`{{${mark}}}`, `${ASSETS}${name}`)
fs.writeFileSync(path.join(PARTIAL, 'index.html'), index)

/** The entry and what it imports at once, not what it loads later. */
const first = new Set([entry.fileName])
for (const name of first) for (const imported of byName.get(name)?.imports ?? []) first.add(imported)
const bytes =
  [...first].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0) +
  write(names.STYLE, style) +
  write(names.ICON, icon) +
  zlib.gzipSync(index).length
if (bytes > FIRST_LOAD_BYTES_MAX) {
  console.error(`the first page takes ${bytes} bytes in gzip, more than ${FIRST_LOAD_BYTES_MAX}`)
  process.exit(1)
}
fs.rmSync(OUT, { recursive: true, force: true })
fs.renameSync(PARTIAL, OUT)
console.error(`explorer: ${bytes} bytes in gzip for the first page, ${output.length} scripts`)
