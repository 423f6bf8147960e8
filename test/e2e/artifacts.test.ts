// Artifacts as Foundry and Hardhat 2 and 3 write them, of contracts on a development chain: names,
// errors, lines and slots, by the page's routes and by `hearth trace`. Row 16 of the explorer's
// acceptance table.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ArtifactFolders } from '../../ts/artifacts/index.ts'
import { partValue, readLayout, SlotNames, type SourceAnswer, SourceLines } from '../../ts/explore/artifacts/index.ts'
import { Calls } from './dev-calls.ts'
import { hearth, type RunningNode, startNode } from './harness.ts'
import { type Compiled, compile, type Deployed, deploy, lineWith, type Tool } from './vault.ts'

interface Answer {
  readonly id: string
  readonly name: string
  readonly source: string
  readonly how: string
  readonly signatures: readonly string[]
  readonly layout?: unknown
}

interface Identified {
  readonly addresses: Readonly<Record<string, readonly Answer[]>>
  readonly creations: readonly (readonly Answer[])[]
  readonly contracts: number
  readonly problems: readonly { file: string; message: string }[]
}

interface Step {
  readonly index: number
  readonly frame: number
  readonly pc: number
  readonly op: string
}

const KINDS: readonly [string, Tool, { profile?: string; flags?: readonly string[] }][] = [
  ['Foundry, optimized', 'foundry', {}],
  ['Foundry with --build-info, not optimized', 'foundry', { profile: 'plain', flags: ['--build-info'] }],
  ['Foundry by way of the intermediate representation', 'foundry', { profile: 'ir' }],
  ['Hardhat 2', 'hardhat2', {}],
  ['Hardhat 3', 'hardhat3', {}],
]

describe.each(KINDS)('artifacts of %s', async (_, tool, options) => {
  const found = await compile(tool, options)
  if ('missing' in found) {
    it.skip(`skipped: artifacts of ${tool}: ${found.missing}`, () => undefined)
    return
  }
  const compiled: Compiled = found
  let node: RunningNode
  let dev: Calls
  let made: Deployed
  beforeAll(async () => {
    node = await startNode(['dev', '--artifacts', compiled.artifacts])
    dev = new Calls(node.url)
    made = await deploy(compiled.artifacts, dev)
  })
  afterAll(async () => {
    await node?.stop()
    compiled.project.remove()
  })

  const identify = async (more: object = {}): Promise<Identified> => {
    const body = JSON.stringify({ block: 'latest', addresses: [made.vault, made.shares, made.left], ...more })
    const answer = await fetch(`${node.url}/_/identify`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    expect(answer.status).toBe(200)
    return (await answer.json()) as Identified
  }
  const linesOf = async ({ id }: Answer): Promise<SourceLines> => {
    const answer = await fetch(`${node.url}/_/source/${id}`)
    expect(answer.status).toBe(200)
    return new SourceLines((await answer.json()) as SourceAnswer)
  }

  it('match every target exactly, with all names of its ABI', async () => {
    const { addresses, problems, creations } = await identify({
      creations: [(await dev.call<{ input: string }>('eth_getTransactionByHash', made.unmade)).input],
    })
    expect(problems).toEqual([])
    expect(addresses[made.vault]?.map(({ name, how }) => [name, how])).toEqual([['Vault', 'exact']])
    expect(addresses[made.shares]?.map(({ name, how }) => [name, how])).toEqual([['Shares', 'exact']])
    expect(creations[0]?.map(({ name }) => name)).toEqual(['Vault'])
    expect(addresses[made.vault]?.[0]?.signatures).toEqual(
      expect.arrayContaining([
        'function put(uint256 amount)',
        'error TooBig(uint256 asked, string why)',
        'event Put(address indexed who, uint256 amount)',
      ]),
    )
    // Without the compiler's hash of the source, contracts of equal code have both names.
    const names = addresses[made.left]?.map(({ name }) => name)
    expect(names).toEqual(tool === 'foundry' ? ['Left', 'Right'] : ['Left'])
  })

  it('show the line of a revert while stepping', async () => {
    const { addresses } = await identify()
    const lines = await linesOf(addresses[made.vault]?.[0] as Answer)
    const { steps } = await dev.call<{ steps: number }>('debug_traceStepIndex', made.failed)
    const last = await dev.call<{ steps: Step[] }>('debug_traceSteps', made.failed, { from: steps - 1, to: steps, fields: [] })
    expect(last.steps[0]?.op).toBe('REVERT')
    const line = lines.at('runtime', last.steps[0]?.pc as number)
    expect(line?.path).toMatch(/Vault\.sol$/)
    expect(line?.line).toBe(lineWith('revert TooBig'))
    expect(lines.textOf(line?.path as string)?.[(line?.line as number) - 1]?.slice((line?.from.column as number) - 1)).toMatch(
      /^(revert )?TooBig\(/,
    )
  })

  it('show the line of a failure in a constructor', async () => {
    const { creations } = await identify({
      creations: [(await dev.call<{ input: string }>('eth_getTransactionByHash', made.unmade)).input],
    })
    const lines = await linesOf(creations[0]?.[0] as Answer)
    const { steps } = await dev.call<{ steps: number }>('debug_traceStepIndex', made.unmade)
    const last = await dev.call<{ steps: Step[] }>('debug_traceSteps', made.unmade, { from: steps - 1, to: steps, fields: [] })
    // Through the intermediate representation, the compiler names the whole contract here.
    const expected = options.profile === 'ir' ? 'contract Vault' : 'a vault for nothing'
    expect(lines.at('creation', last.steps[0]?.pc as number)?.line).toBe(lineWith(expected))
  })

  it('name changed slots if the artifact has a storage layout', async () => {
    const { addresses } = await identify()
    const layout = readLayout(addresses[made.vault]?.[0]?.layout)
    if (tool !== 'foundry') {
      // Hardhat writes one only where its settings select it.
      expect(layout).toBeUndefined()
      return
    }
    const preimages = new Map(Object.entries(await dev.trace<Record<string, string>>(made.put, 'keccak256PreimageTracer')))
    const diff = await dev.trace<{ post: Record<string, { storage: Record<string, string> }> }>(made.put, 'prestateTracer', {
      diffMode: true,
    })
    const names = new SlotNames(layout as NonNullable<typeof layout>, preimages)
    const changed = Object.entries(diff.post[made.vault]?.storage ?? {}).flatMap(([slot, value]) =>
      names.parts(slot).map((part) => `${part.type} ${part.name} = ${partValue(part, value)}`),
    )
    expect(changed.sort()).toEqual(
      [
        'bool accounts[0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266][7].open = false',
        'uint128 accounts[0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266][7].shares = 5',
        'uint64 accounts[0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266][7].since = 0',
        'uint256 history[0] = 10',
        'uint256[] history = 1',
        'uint64 high = 1',
        'uint64 low = 10',
      ].sort(),
    )
    const created = await dev.call<string>('eth_getStorageAt', made.vault, '0x2', 'latest')
    expect(names.parts('0x2').map((part) => partValue(part, created))).toEqual(['"the vault"'])
  })

  it('give hearth trace names, lines, and gas by line that adds up', async () => {
    const trace = (...args: string[]) => hearth(['trace', '--rpc', node.url, '--artifacts', compiled.artifacts, ...args])
    const { stdout, stderr } = trace(made.failed)
    expect(stderr).toBe('')
    expect(stdout).toMatch(
      /^arose {5}\[0\] Vault\(0x\S+\)::put\(amount: 5000\) {2}TooBig\(asked: 5000, why: "more than the vault takes"\)$/m,
    )
    expect(trace(made.unmade).stdout).toContain('a vault for nothing')
    expect(trace('--steps', '0..', made.failed).stdout).toMatch(new RegExp(`  \\S*Vault\\.sol:${lineWith('revert TooBig')}$`, 'm'))
    const { lines, none } = JSON.parse(trace('--gas=line', '--json', made.put).stdout) as {
      lines: { line: number; path: string; gas: number }[]
      none: { gas: number }
    }
    const profile = await dev.call<{ stepsGas: number }>('debug_traceGasProfile', made.put, { by: 'pc' })
    expect(lines.reduce((sum, { gas }) => sum + gas, none.gas)).toBe(profile.stepsGas)
    if (options.profile === 'ir') return
    expect(lines.find(({ line }) => line === lineWith('history.push'))?.gas).toBeGreaterThan(40_000)
    expect(trace('--gas=line', made.put).stdout).toMatch(/%.* steps +\S*Vault\.sol:\d+ +history\.push\(amount\);/)
  })

  it('lose their lines and keep their names if a source changed', async () => {
    // Builds that hold their sources need no file.
    const holdsSources = tool !== 'foundry' || options.flags?.includes('--build-info') === true
    const before = fs.readFileSync(compiled.source)
    fs.appendFileSync(compiled.source, '// changed\n')
    const codes = new Map([[made.vault, await dev.call<string>('eth_getCode', made.vault, 'latest')]])
    const folders = new ArtifactFolders([compiled.artifacts])
    const { addresses } = await folders.identify({ codes, creations: [] })
    const answer = (await folders.source(addresses[made.vault]?.[0]?.id as string)) as SourceAnswer
    fs.writeFileSync(compiled.source, before)
    expect(addresses[made.vault]?.[0]?.name).toBe('Vault')
    const problems = answer.files.map((file) => ('problem' in file ? file.problem : 'there'))
    expect(problems).toEqual([holdsSources ? 'there' : 'the source has changed since it was compiled'])
  })

  it('are read again after a new build, which replaces their ids', async () => {
    const folder = fs.mkdtempSync(path.join(compiled.project.dir, 'copy-'))
    const folders = new ArtifactFolders([folder])
    const codes = new Map([[made.shares, await dev.call<string>('eth_getCode', made.shares, 'latest')]])
    expect(await folders.identify({ codes, creations: [] })).toMatchObject({ addresses: {}, contracts: 0 })
    fs.cpSync(compiled.artifacts, path.join(folder, 'out'), { recursive: true })
    await expect.poll(async () => Object.keys((await folders.identify({ codes, creations: [] })).addresses)).toEqual([made.shares])
    expect(await folders.source('1-0')).toBeUndefined()
    expect(await folders.source('../../etc/passwd')).toBeUndefined()
  })
})
