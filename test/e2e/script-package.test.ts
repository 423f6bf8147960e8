// The package as it is published: packed, installed into an empty folder, imported there, typed there.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from './harness.ts'

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-pack-'))
let tarball = ''
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

/** Time for npm, in milliseconds. */
const NPM_MS_MAX = 110_000

function run(command: string, args: readonly string[], cwd = folder): { readonly status: number | null; readonly out: string } {
  const ran = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: NPM_MS_MAX, maxBuffer: 1 << 28 })
  return { status: ran.status, out: `${ran.stdout}${ran.stderr}` }
}

beforeAll(() => {
  const packed = run('npm', ['pack', '--silent', '--pack-destination', folder], ROOT)
  if (packed.status !== 0) throw new Error(packed.out)
  const name = fs.readdirSync(folder).find((file) => file.endsWith('.tgz'))
  tarball = path.join(folder, name as string)
})

describe('the tarball', () => {
  it('has what runs and no sources', () => {
    const files = run('tar', ['-tzf', tarball]).out.split('\n')
    expect(files).toEqual(
      expect.arrayContaining(['package/dist/index.js', 'package/dist/index.d.ts', 'package/native/index.js', 'package/LICENSE']),
    )
    expect(files.some((file) => /^package\/native\/hearth\..*\.node$/.test(file))).toBe(true)
    expect(files.filter((file) => /\.rs$|^package\/(crates|test|ts\/(?!metrics))/.test(file))).toEqual([])
  })

  it('is well formed, and its types are found by everyone who can import it', () => {
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
    const project = path.join(folder, 'project')
    fs.mkdirSync(project)
    fs.writeFileSync(path.join(project, 'package.json'), '{"type":"module","private":true}')
    // What it depends on is here already: nothing is fetched.
    const installed = run(
      'npm',
      ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', tarball],
      project,
    )
    expect([installed.status, installed.out]).toEqual([0, expect.any(String)])
    fs.writeFileSync(
      path.join(project, 'use.mjs'),
      `import { createDevNode } from 'hearth'
import { hearth } from 'hearth/viem'
import { createPublicClient } from 'viem'
await using_()
async function using_() {
  const node = await createDevNode()
  const client = createPublicClient({ transport: hearth(node) })
  console.log(node.height, await client.getChainId(), (await node.blocks().toArray()).length)
  await node.close()
}
`,
    )
    const used = run(process.execPath, ['use.mjs'], project)
    expect([used.status, used.out]).toEqual([0, '0n 31337 1\n'])
    // ethers is nobody's business who does not import it.
    expect(fs.existsSync(path.join(project, 'node_modules/ethers'))).toBe(false)
    const command = run(process.execPath, [path.join(project, 'node_modules/hearth/dist/cli/main.js'), '--version'], project)
    expect(command.status).toBe(0)
  })

  it('is typed there, without the types of Node', () => {
    const project = path.join(folder, 'project')
    fs.writeFileSync(
      path.join(project, 'typed.mts'),
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
    const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc')
    const options = [
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
    expect(run(process.execPath, [tsc, ...options, 'typed.mts'], project)).toEqual({ status: 0, out: '' })
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
