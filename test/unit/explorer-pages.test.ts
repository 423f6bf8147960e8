// The explorer's pages: who gets them, under which headers, and what of them needs a token.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import zlib from 'node:zlib'
import { afterEach, expect, it } from 'vitest'
import { resolveSettings } from '../../ts/config/index.ts'
import { servesExplorer } from '../../ts/node/explorer.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { type Server, startServer } from '../../ts/server/index.ts'
import { NotBuilt, readAssets } from '../../ts/server/pages/assets.ts'
import { contentPolicy } from '../../ts/server/pages/policy.ts'
import { fakeCore } from './fake-core.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

const HTML = { accept: 'text/html,*/*;q=0.8' }
const TX = `/tx/0x${'ab'.repeat(32)}`

async function serve(isOn: boolean, flags: Record<string, string> = {}): Promise<string> {
  const { settings } = resolveSettings({ flags: new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', ...flags })) })
  const core = fakeCore({ blockNumber: '"0x1b"' })
  const dispatch = makeDispatch(rpcContext(core, settings), batchLimits(settings), () => undefined)
  const explorer = isOn ? ({ core: () => core, mode: 'dev', version: 'hearth/test', baking: false } as const) : undefined
  const server = await startServer(settings, dispatch, { report: () => undefined, explorer })
  opened.push(server)
  return server.httpUrl as string
}

it('serves the page by default under dev, not under start', () => {
  const on = (mode: 'start' | 'dev', value?: string): boolean =>
    servesExplorer(mode, resolveSettings({ flags: new Map(value === undefined ? [] : [['evm.explorer', value]]) }).settings)
  expect([on('start'), on('dev'), on('start', 'true'), on('dev', 'false')]).toEqual([false, true, true, false])
})

it('leaves / as it is if the page is off or not accepted', async () => {
  const off = await serve(false)
  const plain = await (await fetch(off)).text()
  expect([
    (await fetch(off, { headers: HTML })).headers.get('content-type'),
    (await fetch(`${off}${TX}`, { headers: HTML })).status,
  ]).toEqual(['text/plain; charset=utf-8', 404])
  const on = await serve(true)
  const response = await fetch(on)
  expect([response.headers.get('vary'), await response.text()]).toEqual(['accept', plain])
  expect([(await fetch(`${on}${TX}`)).status, (await fetch(`${on}${TX}`, { method: 'POST', headers: HTML })).status]).toEqual([404, 404])
})

it('refuses other hosts, and inexact paths of files', async () => {
  const url = await serve(true)
  const port = new URL(url).port
  const { default: http } = await import('node:http')
  const status = (headers: Record<string, string>, target: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      http.get({ host: '127.0.0.1', port, path: target, headers, agent: false }, (r) => resolve(r.resume().statusCode)).on('error', reject)
    })
  expect(await status({ ...HTML, host: 'evil.example' }, TX)).toBe(403)
  expect(await status({ host: 'evil.example' }, '/_/status')).toBe(403)
  for (const target of ['/_/assets/', '/_/assets/../index.html', '/_/assets/..%2findex.html', '/_/assets/none.js']) {
    expect(await status(HTML, target)).toSatisfy((code) => code === 404 || code === 503)
  }
})

it('answers the status, with a token where debug needs one', async () => {
  const open = await serve(true)
  const response = await fetch(`${open}/_/status`)
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  const status = (await response.json()) as Record<string, unknown>
  expect(status).toMatchObject({ version: 'hearth/test', mode: 'dev', baking: false, everyMs: 5000, height: null })
  expect(status.samples).toHaveLength(1)
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
  const file = path.join(folder, 'tokens')
  fs.writeFileSync(file, 'a-token-of-the-test\n', { mode: 0o600 })
  const guarded = await serve(true, { 'evm.auth_token_file': file })
  const refused = await fetch(`${guarded}/_/status`)
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="hearth"'])
  expect((await fetch(`${guarded}/_/status`, { headers: { authorization: 'Bearer a-token-of-the-test' } })).status).toBe(200)
  fs.rmSync(folder, { recursive: true })
})

it('reads files once, by exact names, and reports missing ones', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
  expect(() => readAssets(folder)).toThrow(NotBuilt)
  fs.mkdirSync(path.join(folder, 'assets'))
  fs.writeFileSync(path.join(folder, 'index.html'), '<p>')
  fs.writeFileSync(path.join(folder, 'assets/a-1.js'), 'x')
  fs.writeFileSync(path.join(folder, 'assets/a-1.js.br'), 'y')
  fs.writeFileSync(path.join(folder, 'assets/secret'), 'z')
  const { index, files } = readAssets(folder)
  expect(index).toBe('<p>')
  expect([...files.keys()]).toEqual(['/_/assets/a-1.js'])
  expect(files.get('/_/assets/a-1.js')).toMatchObject({ br: Buffer.from('y'), gzip: undefined })
  fs.rmSync(folder, { recursive: true })
})

it('has a strict policy: no inline code, one other origin', () => {
  expect(contentPolicy(undefined)).toContain("connect-src 'self';")
  expect(contentPolicy('http://127.0.0.1:9')).toContain("connect-src 'self' http://127.0.0.1:9;")
  expect(contentPolicy(undefined)).not.toMatch(/unsafe|\*/)
  expect(contentPolicy(undefined)).toContain("require-trusted-types-for 'script'")
})

it('has no code that takes HTML as text', () => {
  const root = path.resolve(import.meta.dirname, '../../ts/web')
  const files = fs.readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
  expect(files.length).toBeGreaterThan(20)
  const taking = files.filter((name) =>
    /innerHTML|insertAdjacentHTML|document\.write|dangerously|\beval\(/.test(fs.readFileSync(path.join(root, name), 'utf8')),
  )
  expect(taking).toEqual([])
})

/** Bytes of everything that the first page needs, in gzip. */
const FIRST_LOAD_BYTES_MAX = 60 * 1024

it('loads at most 60 KiB for the first page and its imports', () => {
  const { index, files } = readAssets(path.join(ROOT, 'dist/explorer'))
  // The script of the worker is named in a <meta>, and loaded with the first folder of artifacts.
  const first = new Set([...index.matchAll(/(?:src|href)="(\/_\/assets\/[^"]+)"/g)].map(([, name]) => name as string))
  for (const name of first) {
    const text = files.get(name)?.plain.toString() ?? ''
    // `import("./late.js")` loads later.
    for (const [, imported] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) first.add(`/_/assets/${imported}`)
  }
  expect([...first].filter((name) => !files.has(name))).toEqual([])
  expect(first.size).toBeGreaterThanOrEqual(4)
  const bytes = [...first].reduce((sum, name) => sum + (files.get(name)?.gzip?.length ?? Number.NaN), zlib.gzipSync(index).length)
  expect(bytes).toBeLessThanOrEqual(FIRST_LOAD_BYTES_MAX)
})

it('is not built again where nothing changed', () => {
  const build = () => spawnSync(process.execPath, ['native/setup/build.mjs', 'web'], { cwd: ROOT, encoding: 'utf8' })
  expect(build().status).toBe(0)
  const file = path.join(ROOT, 'dist/explorer/index.html')
  const before = fs.statSync(file).mtimeMs
  expect(build()).toMatchObject({ status: 0, stdout: '', stderr: '' })
  expect(fs.statSync(file).mtimeMs).toBe(before)
})
