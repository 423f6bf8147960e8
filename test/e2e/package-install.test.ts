// The tarballs of `npm run pack:binary` as a user installs them: an empty folder, a machine without
// compilers; and what they are made of.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aboveFloors, BINARY_BYTES_MAX, dynamicSymbols, FLOORS, neededVersions } from '../../native/setup/binary.mjs'
import { ENGINES } from '../../native/setup/isolated-vm.mjs'
import { ROOT, rpc } from './harness.ts'
import { checkInstalled } from './installed.ts'
import { npmInstall } from './npm-install.ts'
import { checkUses, newProject } from './package-uses.ts'
import { FULL } from './peer.ts'
import { until } from './waiting.ts'

/** Time for one call of npm, in milliseconds: a bound against hanging on a machine that is busy. */
const NPM_MS_MAX = 600_000

/**
 * Time for packing, which builds isolated-vm for three versions of Node the first time, in
 * milliseconds.
 */
const PACK_MS_MAX = 2_400_000

const CORE = `hearth-core-${process.platform}-${process.arch}-gnu`
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-install-'))
const project = path.join(folder, 'project')
const OUT = path.join(folder, 'npm')
const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }
const TARBALLS = [`hearth-${version}.tgz`, `${CORE}-${version}.tgz`].map((name) => path.join(OUT, name))

afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

/** What the machine of a user has on its PATH: Node, npm and a shell. */
function pathWithoutCompilers(): string {
  const bin = path.join(folder, 'bin')
  fs.mkdirSync(bin)
  for (const name of ['node', 'npm', 'npx', 'sh']) {
    const found = (process.env.PATH ?? '').split(path.delimiter).map((dir) => path.join(dir, name))
    fs.symlinkSync(name === 'node' ? process.execPath : (found.find((file) => fs.existsSync(file)) as string), path.join(bin, name))
  }
  return bin
}

/**
 * The environment of that machine; the cache of npm is this one's, so that nothing is fetched
 * twice.
 */
const environment = (bin: string): NodeJS.ProcessEnv => ({
  PATH: bin,
  HOME: folder,
  npm_config_cache: spawnSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).stdout.trim(),
})

function run(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = process.env, timeout = NPM_MS_MAX) {
  const ran = spawnSync(command, args, { cwd, env, encoding: 'utf8', timeout, maxBuffer: 1 << 28 })
  return { status: ran.status, out: `${ran.stdout}${ran.stderr}` }
}

/** Packs into the folder of the tarballs. */
function pack(): void {
  const packed = run('npm', ['run', '--silent', 'pack:binary', '--', OUT], ROOT, process.env, PACK_MS_MAX)
  if (packed.status !== 0) throw new Error(packed.out)
}

const digests = (): string => fs.readFileSync(path.join(OUT, 'SHA256SUMS'), 'utf8')

/**
 * A script in the project that makes a node, sends a transaction and traces it with both kinds of
 * tracer.
 */
const SCRIPT = `import { createDevNode } from 'hearth'
const node = await createDevNode()
const [from, to] = node.accounts.map(({ address }) => address)
const hash = await node.provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value: '0x1' }] })
const traced = (tracer) => node.provider.request({ method: 'debug_traceTransaction', params: [hash, { tracer, timeout: '60s' }] })
const { type, gasUsed } = await traced('callTracer')
const script = await traced('{step:function(){},fault:function(){},result:function(ctx){return ctx.gasUsed}}')
console.log(type, gasUsed, script)
await node.close()
`

let env: NodeJS.ProcessEnv
let installed: ReturnType<typeof run>
beforeAll(() => {
  pack()
  env = environment(pathWithoutCompilers())
  newProject(project)
  const began = Date.now()
  installed = npmInstall(['--prefer-offline', '--no-audit', '--no-fund', ...TARBALLS], project, env)
  console.log(`npm install of the tarballs took ${((Date.now() - began) / 1000).toFixed(1)} s`)
}, PACK_MS_MAX)

describe.skipIf(process.platform !== 'linux')('an installation without compilers', { timeout: NPM_MS_MAX }, () => {
  it('has no compiler, and needs no script of a package', () => {
    // npm names packages whose scripts it has no opinion on; ours has none, protobufjs has one.
    const said = installed.out.replaceAll(/^npm warn install-scripts.*\n/gm, '')
    expect([installed.status, said]).toEqual([0, expect.not.stringMatching(/warn|error/i)])
    for (const tool of ['cc', 'g++', 'cargo', 'cmake', 'python3', 'make'])
      expect(run('sh', ['-c', `command -v ${tool}`], project, env).out).toBe('')
    const { packages } = JSON.parse(fs.readFileSync(path.join(project, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean }>
    }
    expect(Object.keys(packages)).toEqual(expect.arrayContaining(['node_modules/hearth', `node_modules/${CORE}`]))
    // The script of protobufjs prints a warning about its version; nothing needs it.
    const scripted = Object.keys(packages).filter((name) => packages[name]?.hasInstallScript === true)
    expect(scripted).toEqual(['node_modules/protobufjs'])
  })

  it('serves a script that imports hearth, with JS tracers', () => {
    fs.writeFileSync(path.join(project, 'use.mjs'), SCRIPT)
    expect(run('node', ['use.mjs'], project, env)).toEqual({ status: 0, out: 'CALL 0x5208 21000\n' })
  })

  it('npx hearth dev answers requests', async () => {
    const flags = ['--evm.http_port=0', '--evm.ws_port=0', '--metrics.port=0']
    const child = spawn('npx', ['--no-install', 'hearth', 'dev', ...flags], {
      cwd: project,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (text += data))
    try {
      const url = (): string | undefined => /ready.*?(http:\/\/[^\s,]+)/.exec(text)?.[1]
      await until('the address of the node', () => url() !== undefined)
      expect(await rpc(url() as string, 'eth_chainId')).toMatchObject({ result: '0x7a69' })
    } finally {
      // npx starts a shell, which starts the node.
      process.kill(-(child.pid as number), 'SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
  })

  it('starts out of the code cache of this version of Node', () => {
    const cli = path.join(project, 'node_modules/hearth/dist/cli')
    const caches = Object.values(ENGINES).map(({ abi }) => `program-${abi}.cache`)
    expect(fs.readdirSync(cli).filter((name) => name.endsWith('.cache'))).toEqual(expect.arrayContaining(caches))
    const script = `const { loadProgram } = await import(${JSON.stringify(path.join(cli, 'load.js'))}); console.log((await loadProgram()).cached)`
    expect(run('node', ['--input-type=module', '-e', script], project, env)).toEqual({ status: 0, out: 'true\n' })
  })

  it('needs the documented system, and has the documented size', () => {
    const dir = path.join(project, 'node_modules', CORE)
    const libraries = fs.readdirSync(dir).filter((name) => name.endsWith('.node'))
    expect(libraries).toHaveLength(1 + Object.keys(ENGINES).length)
    for (const name of libraries) expect([name, aboveFloors(dynamicSymbols(path.join(dir, name)))]).toEqual([name, []])
    const page = fs.readFileSync(path.join(ROOT, 'docs/releasing.md'), 'utf8')
    expect(page).toContain(`glibc ${FLOORS.GLIBC}`)
    expect(page).toContain(`GLIBCXX_${FLOORS.GLIBCXX}`)
    // The dev profile of tests is unoptimized and larger.
    const bytes = libraries.reduce((sum, name) => sum + fs.statSync(path.join(dir, name)).size, 0)
    if (process.env.HEARTH_PROFILE !== 'dev') expect(bytes).toBeLessThanOrEqual(BINARY_BYTES_MAX)
    expect(run('sh', ['-c', `objdump -h ${path.join(dir, `hearth.${CORE.slice('hearth-core-'.length)}.node`)}`], ROOT).out).not.toContain(
      '.debug_',
    )
  })

  checkInstalled(() => project)

  it('a bill of materials lies beside the tarballs', () => {
    const bill = JSON.parse(fs.readFileSync(path.join(OUT, 'hearth.cdx.json'), 'utf8'))
    const purl = `pkg:npm/hearth@${version}`
    expect([bill.bomFormat, bill.specVersion, bill.metadata.component.purl]).toEqual(['CycloneDX', '1.6', purl])
  })

  it('is refused on other systems by npm and by the loader', () => {
    const elsewhere = path.join(folder, 'elsewhere')
    fs.mkdirSync(elsewhere)
    const pretend = path.join(folder, 'pretend.cjs')
    const as = (name: string, value: string): string => `Object.defineProperty(process, '${name}', { value: '${value}' })\n`
    fs.writeFileSync(pretend, `${as('platform', 'darwin')}${as('arch', 'arm64')}`)
    const mac = { ...env, NODE_OPTIONS: `--require ${pretend}` }
    const refused = npmInstall(['--offline', path.join(OUT, `hearth-${version}.tgz`)], elsewhere, mac)
    expect(refused.status).not.toBe(0)
    expect(refused.out).toMatch(/EBADPLATFORM/)
    expect(refused.out).toMatch(/wanted \{"os":"linux","cpu":"x64,arm64"/)
    const loaded = run('node', ['--require', pretend, 'use.mjs'], project, env)
    expect(loaded.status).toBe(1)
    expect(loaded.out).toContain('Error: Hearth has no binary for darwin-arm64: it runs on Linux with glibc, on x64 and arm64. On macOS')
    const setup = run('node', ['--require', pretend, path.join(ROOT, 'native/setup/build.mjs')], ROOT)
    expect(setup).toEqual({
      status: 1,
      out: 'hearth set-up: Hearth runs on Linux (x64 or arm64, with glibc), and this is darwin-arm64. Run it in a container (docs/examples/Containerfile) or in a virtual machine with Linux.\n',
    })
  })

  it('SHA256SUMS has the digest of each file', () => {
    expect(run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], OUT)).toEqual({
      status: 0,
      out: [`hearth-${version}.tgz`, `${CORE}-${version}.tgz`, 'hearth.cdx.json'].map((file) => `${file}: OK\n`).join(''),
    })
  })

  // Packing twice takes as long as the rest of this file.
  it.skipIf(!FULL)('packing again gives the same bytes', () => {
    const sums = digests()
    pack()
    expect(digests()).toBe(sums)
  })
})

describe.skipIf(process.platform !== 'linux')('the tarballs', { timeout: NPM_MS_MAX }, () => {
  checkUses(() => ({ dir: project, tarballs: TARBALLS }))
})

describe('symbol versions', () => {
  const TABLE = `
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.9)   memcpy
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.34)  pthread_create
0000000000000000      DO *UND*  0000000000000000 (GLIBCXX_3.4.30) _ZTI
0000000000000000  w   DF *UND*  0000000000000000  Base         __gmon_start__`

  it('the newest of each library counts, by numbers', () => {
    expect(neededVersions(TABLE)).toEqual({ GLIBC: '2.34', GLIBCXX: '3.4.30' })
    expect(aboveFloors(TABLE)).toEqual([])
    expect(aboveFloors(TABLE.replace('2.9', '2.38'))).toEqual(['it needs GLIBC_2.38, and GLIBC_2.34 is the newest that a package may need'])
  })
})
