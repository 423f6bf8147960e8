// The package as it is published: packed, installed into an empty folder, imported there, with its
// types.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openNode } from 'hearth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from './harness.ts'
import { checkInstalled } from './installed.ts'

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-pack-'))
let tarball = ''
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

/**
 * Time for one call of npm and for a test that makes some, in milliseconds: a bound against hangs
 * on a busy machine.
 */
const NPM_MS_MAX = 600_000

/**
 * Time for packing, which builds isolated-vm for three versions of Node the first time, in
 * milliseconds.
 */
const PACK_MS_MAX = 2_400_000

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

function run(
  command: string,
  args: readonly string[],
  cwd = folder,
  timeout = NPM_MS_MAX,
): { readonly status: number | null; readonly out: string } {
  const ran = spawnSync(command, args, { cwd, encoding: 'utf8', timeout, maxBuffer: 1 << 28 })
  return { status: ran.status, out: `${ran.stdout}${ran.stderr}` }
}

/** Installs tarballs, and versions of packages, into a project; nothing runs at the install. */
function install(dir: string, ...packages: readonly string[]): void {
  // What they depend on is here already: nothing is fetched.
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const installed = run('npm', ['install', ...flags, ...packages], dir)
  if (installed.status !== 0) throw new Error(installed.out)
}

/** Makes a project of ES modules with these tarballs installed. */
function project(name: string, ...packages: readonly string[]): string {
  const dir = path.join(folder, name)
  fs.mkdirSync(dir)
  fs.writeFileSync(path.join(dir, 'package.json'), '{"type":"module","private":true}')
  install(dir, ...packages)
  return dir
}

/** A copy of the project that has the tarball of npm pack installed. */
function copyOf(name: string): string {
  const dir = path.join(folder, name)
  fs.cpSync(path.join(folder, 'project'), dir, { recursive: true })
  return dir
}

beforeAll(() => {
  const packed = run('npm', ['pack', '--silent', '--pack-destination', folder], ROOT, PACK_MS_MAX)
  if (packed.status !== 0) throw new Error(packed.out)
  const name = fs.readdirSync(folder).find((file) => file.endsWith('.tgz'))
  tarball = path.join(folder, name as string)
  project('project', tarball)
}, PACK_MS_MAX)

describe('the tarball', { timeout: NPM_MS_MAX }, () => {
  it('has what runs and no sources', () => {
    const files = run('tar', ['-tzf', tarball]).out.split('\n')
    expect(files).toEqual(
      expect.arrayContaining(['package/dist/index.js', 'package/dist/index.d.ts', 'package/native/index.js', 'package/LICENSE']),
    )
    expect(files.some((file) => /^package\/native\/hearth\..*\.node$/.test(file))).toBe(true)
    expect(files.filter((file) => /\.rs$|^package\/(crates|test|ts\/(?!metrics))/.test(file))).toEqual([])
  })

  it('is well formed, and all importers find its types', () => {
    const publint = run(process.execPath, [path.join(ROOT, 'node_modules/publint/src/cli.js'), tarball, '--strict', '--pack', 'false'])
    expect(publint.out).toMatch(/All good/)
    const attw = run(process.execPath, [
      path.join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js'),
      tarball,
      '--profile',
      'esm-only',
      '--no-color',
      '--no-emoji',
    ])
    expect([attw.status, attw.out]).toEqual([0, expect.stringContaining('OK (ESM)')])
  })

  it('installs into an empty project and runs there', () => {
    const dir = path.join(folder, 'project')
    fs.writeFileSync(
      path.join(dir, 'use.mjs'),
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
    const used = run(process.execPath, ['use.mjs'], dir)
    expect([used.status, used.out]).toEqual([0, '0n 1 132 132\n'])
    // The node needs neither; a script that imports hearth/viem or hearth/ethers brings its own.
    for (const client of ['ethers', 'viem'])
      expect([client, fs.existsSync(path.join(dir, 'node_modules', client))]).toEqual([client, false])
    const command = run(process.execPath, [path.join(dir, 'node_modules/hearth/dist/cli/hearth.cjs'), '--version'], dir)
    expect(command.status).toBe(0)
  })

  it.each([VIEM_OLDEST, VIEM_TESTED])('is typed and runs beside viem %s', (version) => {
    const dir = copyOf(`viem-${version}`)
    install(dir, `viem@${version}`)
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

  it('is typed there, without the types of Node', () => {
    const dir = path.join(folder, 'project')
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
    const dir = copyOf('library')
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
    const bare = path.join(folder, 'bare')
    fs.cpSync(path.join(folder, 'project'), bare, { recursive: true })
    const native = path.join(bare, 'node_modules/hearth/native')
    for (const file of fs.readdirSync(native)) if (file.startsWith('hearth.')) fs.rmSync(path.join(native, file))
    const used = run(process.execPath, ['use.mjs'], bare)
    expect(used.status).not.toBe(0)
    expect(used.out).toContain('npm run build')
  })
})

describe.skipIf(process.platform !== 'linux')('npm pack', { timeout: NPM_MS_MAX }, () => {
  checkInstalled(() => path.join(folder, 'project'))
})
