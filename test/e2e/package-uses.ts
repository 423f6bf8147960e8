// Tests of a project that has the package installed, whichever tarballs it came from: what is in
// them, their types, and scripts that import the package. Some put more into the project, the tests
// of viem last.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { openNode } from 'hearth'
import { expect, it } from 'vitest'
import { ROOT } from './harness.ts'
import { npmInstall } from './npm-install.ts'
import { FULL } from './peer.ts'

/** Time for one call of npm, in milliseconds: a bound against hangs on a busy machine. */
const NPM_MS_MAX = 600_000

const TSC = path.join(ROOT, 'node_modules/typescript/bin/tsc')
const STRICT = [
  '--noEmit',
  '--strict',
  '--target',
  'es2023',
  '--lib',
  'es2023,esnext.disposable,dom',
  '--module',
  'nodenext',
  '--skipLibCheck',
]

const MANIFEST = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'))

/** The oldest version of viem that the package admits, and the one that it is developed with. */
const VIEM_OLDEST: string = /^>=(\S+) /.exec(MANIFEST.peerDependencies.viem)?.[1] ?? ''
const VIEM_TESTED: string = MANIFEST.devDependencies.viem

/** A project with the package, and what it was installed from. */
export interface Installed {
  readonly dir: string
  readonly tarballs: readonly string[]
}

function run(command: string, args: readonly string[], cwd: string): { readonly status: number | null; readonly out: string } {
  const ran = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: NPM_MS_MAX, maxBuffer: 1 << 28 })
  return { status: ran.status, out: `${ran.stdout}${ran.stderr}` }
}

/** Installs tarballs, and versions of packages, into a project; nothing runs at the install. */
export function install(dir: string, ...packages: readonly string[]): void {
  // What they depend on is here already: nothing is fetched.
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const installed = npmInstall([...flags, ...packages], dir)
  if (installed.status !== 0) throw new Error(installed.out)
}

/**
 * Puts a version of viem beside the package, with what it depends on: out of this checkout where
 * that has it, except in the full run, where npm installs each.
 */
function addViem(dir: string, version: string): void {
  if (FULL || version !== VIEM_TESTED) {
    install(dir, `viem@${version}`)
    return
  }
  const place = path.join(dir, 'node_modules/viem')
  fs.rmSync(place, { recursive: true, force: true })
  fs.symlinkSync(path.join(ROOT, 'node_modules/viem'), place)
}

/** Makes a new project of ES modules in a folder. */
export function newProject(dir: string): void {
  fs.mkdirSync(dir)
  fs.writeFileSync(path.join(dir, 'package.json'), '{"type":"module","private":true}')
}

/** Declares the tests of the project, which exists once they run. */
export function checkUses(installed: () => Installed): void {
  const project = (): string => installed().dir

  it('has what runs and no sources', () => {
    const files = installed().tarballs.flatMap((tarball) => run('tar', ['-tzf', tarball], project()).out.split('\n'))
    expect(files).toEqual(
      expect.arrayContaining(['package/dist/index.js', 'package/dist/index.d.ts', 'package/native/index.js', 'package/LICENSE']),
    )
    expect(files.some((file) => /^package\/(native\/)?hearth\..*\.node$/.test(file))).toBe(true)
    expect(files.filter((file) => /\.rs$|^package\/(crates|test|ts\/(?!metrics))/.test(file))).toEqual([])
  })

  it('is well formed, and all importers find its types', () => {
    const [tarball = ''] = installed().tarballs
    const publint = run(
      process.execPath,
      [path.join(ROOT, 'node_modules/publint/src/cli.js'), tarball, '--strict', '--pack', 'false'],
      project(),
    )
    expect(publint.out).toMatch(/All good/)
    const program = path.join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js')
    const attw = run(process.execPath, [program, tarball, '--profile', 'esm-only', '--no-color', '--no-emoji'], project())
    expect([attw.status, attw.out]).toEqual([0, expect.stringContaining('OK (ESM)')])
  })

  it('installs into an empty project and runs there', () => {
    const dir = project()
    fs.writeFileSync(
      path.join(dir, 'run.mjs'),
      `import { createDevNode } from 'hearth'
await using_()
async function using_() {
  const node = await createDevNode()
  const owner = node.accounts[0].address
  const typed = { domain: { name: 'x' }, types: { EIP712Domain: [{ name: 'name', type: 'string' }], A: [{ name: 'n', type: 'uint256' }] }, primaryType: 'A', message: { n: 1 } }
  const personal = await node.provider.request({ method: 'personal_sign', params: ['0x1234', owner] })
  const signed = await node.provider.request({ method: 'eth_signTypedData_v4', params: [owner, typed] })
  console.log(node.height, (await node.blocks().toArray()).length, personal.length, signed.length)
  await node.close()
}
`,
    )
    const used = run(process.execPath, ['run.mjs'], dir)
    expect([used.status, used.out]).toEqual([0, '0n 1 132 132\n'])
    // The node needs neither; a script that imports hearth/viem or hearth/ethers brings its own.
    for (const client of ['ethers', 'viem'])
      expect([client, fs.existsSync(path.join(dir, 'node_modules', client))]).toEqual([client, false])
    const command = run(process.execPath, [path.join(dir, 'node_modules/hearth/dist/cli/hearth.cjs'), '--version'], dir)
    expect(command.status).toBe(0)
  })

  it('is typed there, without the types of Node', () => {
    const dir = project()
    fs.writeFileSync(
      path.join(dir, 'typed.mts'),
      `import { type Hex, openNode } from 'hearth'
const node = await openNode({ home: 'x', readOnly: true })
const balance: bigint | undefined = (await node.state(1n).account('0x00'))?.balance
const frame = await node.trace('0x00' as Hex, 'callTracer', { config: { withLog: true } })
export const n: number | undefined = frame.logs?.length
for await (const { topics } of node.logs()) { const t: readonly Hex[] = topics; void t }
// @ts-expect-error: no such tracer
node.trace('0x00' as Hex, 'nothing')
void balance
`,
    )
    expect(run(process.execPath, [TSC, ...STRICT, 'typed.mts'], dir)).toEqual({ status: 0, out: '' })
  })

  it('compiles and runs the example of docs/library.md', async () => {
    // The package lies in the folder above.
    const dir = path.join(project(), 'library')
    fs.mkdirSync(dir)
    const guide = fs.readFileSync(path.join(ROOT, 'docs/library.md'), 'utf8')
    const block = (kind: string): string => new RegExp(`\`\`\`${kind}\\n([^]*?)\`\`\``).exec(guide)?.[1] ?? ''
    fs.writeFileSync(path.join(dir, 'tsconfig.json'), block('json'))
    fs.writeFileSync(path.join(dir, 'find-reverts.ts'), block('ts'))
    fs.cpSync(path.join(ROOT, 'node_modules/@types/node'), path.join(dir, 'node_modules/@types/node'), { recursive: true })
    fs.cpSync(path.join(ROOT, 'node_modules/undici-types'), path.join(dir, 'node_modules/undici-types'), { recursive: true })
    let hash: unknown
    {
      await using node = await openNode({ home: path.join(dir, 'chain'), mode: 'dev' })
      const from = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
      // The code of the contract that is to be created reverts.
      const params = [{ from, data: '0x60006000fd', gas: '0x30000' }]
      hash = await node.provider.request({ method: 'eth_sendTransaction', params })
    }
    expect(run(process.execPath, [TSC], dir)).toEqual({ status: 0, out: '' })
    expect(run(process.execPath, ['find-reverts.js', 'chain'], dir)).toEqual({ status: 0, out: `block 1 ${hash}: execution reverted\n` })
  })

  it('says how to build where there is no binary for this machine', () => {
    const modules = path.join(project(), 'node_modules')
    const core = `hearth-core-${process.platform}-${process.arch}-gnu`
    const held = ['hearth/native', core]
      .map((at) => path.join(modules, at))
      .filter((dir) => fs.existsSync(dir))
      .flatMap((dir) => fs.readdirSync(dir).map((file) => path.join(dir, file)))
      .filter((file) => /^hearth\..*\.node$/.test(path.basename(file)))
    expect(held).toHaveLength(1)
    for (const file of held) fs.renameSync(file, `${file}.away`)
    const used = run(process.execPath, ['run.mjs'], project())
    for (const file of held) fs.renameSync(`${file}.away`, file)
    expect(used.status).not.toBe(0)
    expect(used.out).toContain('npm run build')
  })

  it.each([VIEM_OLDEST, VIEM_TESTED])('is typed and runs beside viem %s', (version) => {
    const dir = project()
    addViem(dir, version)
    fs.writeFileSync(
      path.join(dir, 'use.mts'),
      `import { createDevNode } from 'hearth'
import { hearth, traceActions } from 'hearth/viem'
import { createPublicClient } from 'viem'
const node = await createDevNode()
const client = createPublicClient({ transport: hearth(node) }).extend(traceActions)
const [from, to] = node.accounts.map(({ address }) => address)
const hash = (await node.provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value: '0x1' }] })) as \`0x\${string}\`
const chain: number = await client.getChainId()
const height: bigint = await client.getBlockNumber()
const type: string = (await client.traceTransaction(hash, 'callTracer')).type
console.log(chain, height, type)
await node.close()
`,
    )
    const compiled = run(process.execPath, [TSC, ...STRICT.filter((option) => option !== '--noEmit'), 'use.mts'], dir)
    expect(compiled).toEqual({ status: 0, out: '' })
    expect(run(process.execPath, ['use.mjs'], dir)).toEqual({ status: 0, out: '31337 1n CALL\n' })
    expect(JSON.parse(fs.readFileSync(path.join(dir, 'node_modules/viem/package.json'), 'utf8')).version).toBe(version)
  })
}
