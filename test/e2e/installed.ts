// Tests of a project that has the package installed, whichever tarballs it came from: JavaScript
// tracers on every supported version of Node, and the pages of the package.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { ENGINES, nodeRelease } from '../../native/setup/isolated-vm.mjs'

/** Time for a program of the project, in milliseconds: a bound against hangs on a busy machine. */
const PROGRAM_MS_MAX = 600_000

/**
 * A development chain whose transaction is traced by JavaScript; prints the version of Node and the
 * result. Beside busy programs the script's process, which has a low priority, may wait longer
 * for a processor than the default timeout.
 */
const JS_TRACER = `import { createDevNode } from 'hearth'
const node = await createDevNode()
const [from, to] = node.accounts.map(({ address }) => address)
const hash = await node.provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value: '0x1' }] })
const tracer = '{step:function(){},fault:function(){},result:function(ctx){return ctx.type+" "+ctx.gasUsed+" "+typeof WebAssembly}}'
const traced = node.provider.request({ method: 'debug_traceTransaction', params: [hash, { tracer, timeout: '60s' }] })
console.log(process.versions.node.split('.')[0], await traced.catch((e) => e.message))
await node.close()
`

/** The targets of the links of a page that lie in the same package. */
function linksOf(file: string): string[] {
  const text = fs.readFileSync(file, 'utf8')
  return [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, to]) => to as string).filter((to) => !to.includes(':'))
}

/** The program of a release of Node, or why it cannot be had. */
const nodeProgram = (release: string): Promise<string | { readonly missing: string }> =>
  nodeRelease(release).then(
    (dir) => path.join(dir, 'bin/node'),
    (e: unknown) => ({ missing: e instanceof Error ? e.message : String(e) }),
  )

/** Declares the tests of the project in a folder, which exists once they run. */
export function checkInstalled(project: () => string): void {
  const trace = (program: string): { readonly status: number | null; readonly out: string } => {
    const ran = spawnSync(program, ['trace.mjs'], { cwd: project(), encoding: 'utf8', timeout: PROGRAM_MS_MAX })
    return { status: ran.status, out: `${ran.stdout}${ran.stderr}` }
  }

  beforeAll(() => fs.writeFileSync(path.join(project(), 'trace.mjs'), JS_TRACER))

  it.each(Object.entries(ENGINES))('JavaScript tracers work under Node %s', async (major, { node }) => {
    const own = process.versions.node.split('.')[0] === major
    const program = own ? process.execPath : await nodeProgram(node)
    if (typeof program !== 'string') {
      console.log(`skipped: Node ${major} cannot be had: ${program.missing}`)
      return
    }
    expect(trace(program)).toEqual({ status: 0, out: `${major} CALL 21000 undefined\n` })
  })

  it('names the versions of Node that it has', () => {
    const major = process.versions.node.split('.')[0] as string
    const name = `isolated-vm-${process.versions.modules}.node`
    const held = [`hearth/native/${name}`, `hearth-core-${process.platform}-${process.arch}-gnu/${name}`]
      .map((file) => path.join(project(), 'node_modules', file))
      .find((file) => fs.existsSync(file)) as string
    fs.renameSync(held, `${held}.away`)
    const others = Object.keys(ENGINES).filter((other) => other !== major)
    const { out } = trace(process.execPath)
    fs.renameSync(`${held}.away`, held)
    expect(out).toContain(
      `${major} JavaScript tracers are not available: isolated-vm for Node ${process.versions.node} is not in this package`,
    )
    expect(out).toContain(`which has it for Node ${others.join(', ')}. Start the node with one of these versions`)
    expect(out).not.toContain('npm run build')
  })

  it('links of its pages lead to its files', () => {
    const root = path.join(project(), 'node_modules/hearth')
    const pages = [
      'README.md',
      ...fs
        .readdirSync(path.join(root, 'docs'))
        .filter((file) => file.endsWith('.md'))
        .map((file) => `docs/${file}`),
    ]
    expect(pages.length).toBeGreaterThan(5)
    const broken = pages.flatMap((page) =>
      linksOf(path.join(root, page))
        .filter((to) => !fs.existsSync(path.join(root, path.dirname(page), to)))
        .map((to) => `${page}: ${to}`),
    )
    expect(broken).toEqual([])
  })
}
