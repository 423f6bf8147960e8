// The program in one file, with V8's code cache beside it: `hearth` starts in a third of the time
// that its single modules take.
//
//   node dist/cli/write-bundle.js          writes both, and hearth.cjs, which loads them
//   node dist/cli/write-bundle.js warm     the child that fills the cache
//
// hearth.cjs is main.js for Node's CommonJS loader, which is ready sooner than that of ES modules.
// The child serves a development chain for a moment, so that the functions of a start are in the
// cache, compiled.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import type { Terminal } from './command.ts'
import { lazyExternalsPlugin } from './lazy-externals.ts'
import { CACHE, loadProgram, PROGRAM } from './load.ts'

/** Loaded for the first signature or push, which few runs need: it would be half of the file. */
const EXTERNAL = [/^node:(?!http2$)/, /^ox\//, /^@opentelemetry\/(?:exporter-(?:metrics|trace)-otlp-(?:proto|http)|sdk-trace)$/]

/** The entry of the program, as `hearth` is installed. */
const ENTRY = path.join(import.meta.dirname, 'hearth.cjs')

/** How long the child may take, in milliseconds. */
const WARM_MS_MAX = 60_000

/**
 * Hono's listener checks for each request whether it is HTTP/2, which is never served here: loading
 * that module would take long for nothing.
 */
const noHttp2: Plugin = {
  name: 'no-http2',
  resolveId: (source) => (source === 'node:http2' ? '\0http2' : undefined),
  load: (id) => (id === '\0http2' ? 'export class Http2ServerRequest {}\nexport const constants = { NGHTTP2_NO_ERROR: 0 }\n' : undefined),
}

/**
 * Modules of Node that `ws` requires while it loads, with the functions that it takes out of them
 * then. It needs them later: TLS for `wss:` only, cryptography for each WebSocket, zlib for those
 * that compress.
 */
const LATE: ReadonlyMap<string, readonly string[]> = new Map([
  ['https', ['request']],
  ['tls', ['connect']],
  ['crypto', ['createHash', 'randomBytes', 'randomFillSync']],
  ['zlib', []],
])

/** Begins the ids of what stands in their places. */
const LATE_ID = '\0late-'

/** These modules are loaded where one of their functions is first called. */
const late: Plugin = {
  name: 'late',
  resolveId: (source) => (LATE.has(source) ? `${LATE_ID}${source}.cjs` : undefined),
  load(id) {
    const name = id.startsWith(LATE_ID) ? path.basename(id.slice(LATE_ID.length), '.cjs') : ''
    const members = LATE.get(name)?.map((member) => `${member}: (...given) => require('node:${name}').${member}(...given)`)
    if (members === undefined) return undefined
    return `module.exports = new Proxy({ ${members.join(', ')} }, { get: (own, name) => own[name] ?? require('node:${name}')[name] })\n`
  },
}

/**
 * Modules keep their own locations: the `import.meta` of each is replaced by its value, relative to
 * the program.
 */
const places: Plugin = {
  name: 'places',
  transform(code, id) {
    if (!code.includes('import.meta')) return undefined
    const at = (file: string): string =>
      `process.getBuiltinModule('node:path').join(__dirname, ${JSON.stringify(path.relative(import.meta.dirname, file))})`
    return code
      .replaceAll('import.meta.dirname', at(path.dirname(id)))
      .replaceAll('import.meta.url', `process.getBuiltinModule('node:url').pathToFileURL(${at(id)}).href`)
  },
}

/** Puts a module of dist and what it imports into one file; `external` is loaded from outside. */
async function writeFile(input: string, file: string, external: readonly (string | RegExp)[]): Promise<void> {
  const bundle = await rolldown({
    input: path.join(import.meta.dirname, input),
    platform: 'node',
    external: [...external],
    plugins: [noHttp2, late, places, lazyExternalsPlugin],
    onLog: (level, log) => {
      if (level === 'warn') console.error(log.message)
    },
  })
  const comments = { legal: true, annotation: false, jsdoc: false }
  const { output } = await bundle.generate({
    file,
    format: 'cjs',
    codeSplitting: false,
    comments,
    // V8 reads ASCII without decoding it.
    charset: 'ascii',
    // Code out of V8's cache cannot import.
    dynamicImportInCjs: file !== PROGRAM,
  })
  await bundle.close()
  fs.writeFileSync(file, output[0].code, { mode: 0o755 })
}

/**
 * Sends a request to the node that prints its address once it is ready; resolves once it has
 * answered.
 */
function asked(): { readonly terminal: Terminal; readonly answered: Promise<void> } {
  let done = (): void => undefined
  const answered = new Promise<void>((resolve) => {
    done = resolve
  })
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
  const ask = (text: string): void => {
    const url = /ready.*?(http:\/\/[^\s,]+)/.exec(text)?.[1]
    if (url === undefined) return
    const request = fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    void request.then((response) => response.text()).finally(() => done())
  }
  return { terminal: { out: ask, write: async () => undefined, err: (text) => process.stderr.write(text), interactive: false }, answered }
}

/** Serves a development chain in a home that goes away, then keeps what V8 has compiled. */
async function warm(): Promise<void> {
  const { main, codeCache } = await loadProgram({ fresh: true })
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-warm-'))
  try {
    const { terminal, answered } = asked()
    const ended = main(['dev', '--home', home, '--evm.http_port=0', '--evm.ws_port=0', '--metrics.port=0'], terminal)
    const code = await Promise.race([answered, ended])
    if (code !== undefined) throw new Error(`the node ended with ${code}`)
    fs.writeFileSync(`${CACHE}.${process.pid}`, codeCache())
    fs.renameSync(`${CACHE}.${process.pid}`, CACHE)
  } finally {
    fs.rmSync(home, { recursive: true, force: true })
  }
  process.exit(0)
}

if (process.argv[2] === 'warm') {
  await warm()
} else {
  await writeFile('run.js', PROGRAM, EXTERNAL)
  await writeFile('main.js', ENTRY, [/^node:/, /run\.js$/])
  const command = [import.meta.filename, 'warm']
  const warmed = spawnSync(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit'], timeout: WARM_MS_MAX })
  // The program starts without a cache too, later.
  if (warmed.status !== 0) fs.rmSync(CACHE, { force: true })
}
