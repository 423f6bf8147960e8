// The contracts of clients/vault, compiled by the tools that people use, and deployed.
import fs from 'node:fs'
import path from 'node:path'
import { clients } from './clients/install.ts'
import { type Ended, type Project, project } from './clients/project.ts'
import { ALICE, type Calls } from './dev-calls.ts'

/** Places in Vault.sol that the tests look for. */
export const SOURCE = 'src/Vault.sol'
const text = fs.readFileSync(path.join(import.meta.dirname, 'clients/vault', SOURCE), 'utf8')

/** Number of the line of Vault.sol that has a text. */
export function lineWith(part: string): number {
  const at = text.split('\n').findIndex((line) => line.includes(part))
  if (at < 0) throw new Error(`no line has ${part}`)
  return at + 1
}

const HARDHAT = {
  hardhat2: ['node20', 'node_modules/hardhat/internal/cli/bootstrap.js'],
  hardhat3: ['node22', 'node_modules/hardhat/dist/src/cli.js'],
} as const

export type Tool = 'foundry' | 'hardhat2' | 'hardhat3'

/** A project that is compiled: the folder of its artifacts, and the file of its source. */
export interface Compiled {
  readonly project: Project
  readonly artifacts: string
  readonly source: string
}

const worked = ({ code, out, err }: Ended): void => {
  if (code !== 0) throw new Error(`ended with ${code}:\n${out}\n${err}`)
}

/** Compiles with a tool; why not, where it is not there. */
export async function compile(
  tool: Tool,
  { profile = 'default', flags = [] }: { profile?: string; flags?: readonly string[] } = {},
): Promise<Compiled | { missing: string }> {
  const installed = await clients(tool === 'hardhat3' ? 'node22' : 'node20')
  if ('missing' in installed) return installed
  if (tool === 'foundry') {
    const made = project('vault', installed)
    const folder = `forge-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
    const forge = path.join(made.dir, 'node_modules/@foundry-rs', folder, process.platform === 'win32' ? 'bin/forge.exe' : 'bin/forge')
    worked(await made.run(forge, ['build', '--offline', ...flags], { FOUNDRY_PROFILE: profile }))
    return { project: made, artifacts: path.join(made.dir, 'out'), source: path.join(made.dir, SOURCE) }
  }
  const made = project(tool, installed)
  const source = path.join(made.dir, 'contracts/Vault.sol')
  fs.mkdirSync(path.dirname(source), { recursive: true })
  fs.writeFileSync(source, text)
  const env = { NODE_URL: 'http://127.0.0.1:1', HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' }
  worked(await made.run(process.execPath, [path.join(made.dir, HARDHAT[tool][1]), 'compile'], env))
  return { project: made, artifacts: path.join(made.dir, 'artifacts'), source }
}

interface Bytecode {
  readonly hex: string
  /** Places of libraries, in bytes. */
  readonly links: readonly { readonly start: number; readonly length: number }[]
}

/** Creation code of a contract out of its artifact. */
function bytecode(folder: string, name: string): Bytecode {
  const file = (fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }) as string[]).find(
    (one) => path.basename(one) === `${name}.json`,
  )
  if (file === undefined) throw new Error(`${folder} has no ${name}.json`)
  const { bytecode: given, linkReferences } = JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')) as {
    bytecode: string | { object: string; linkReferences: unknown }
    linkReferences?: unknown
  }
  const [hex, references] = typeof given === 'string' ? [given, linkReferences] : [given.object, given.linkReferences]
  const links = Object.values((references ?? {}) as Record<string, Record<string, Bytecode['links']>>).flatMap((file) =>
    Object.values(file).flat(),
  )
  return { hex: hex.replace(/^0x/, ''), links }
}

const word = (n: number): string => n.toString(16).padStart(64, '0')

/** What was sent, and what came of it. */
export interface Deployed {
  readonly vault: string
  readonly shares: string
  readonly left: string
  /** `put(10)`, and `put(5000)`, which reverts with TooBig. */
  readonly put: string
  readonly failed: string
  /** A creation that reverts in its constructor. */
  readonly unmade: string
}

/** `put(uint256)`. */
export const PUT = '0x3f81a2c0'

/** Deploys the contracts of a folder of artifacts on a development chain, and calls them. */
export async function deploy(folder: string, dev: Calls): Promise<Deployed> {
  const more = { gas: '0x1e8480' }
  const send = (to: string | undefined, data: string): Promise<string> => dev.send(ALICE, to, { ...more, data })
  const created = async (hash: string): Promise<string> =>
    (await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', hash)).contractAddress
  const shares = await created(await send(undefined, `0x${bytecode(folder, 'Shares').hex}`))
  const { hex, links } = bytecode(folder, 'Vault')
  const linked = links.reduce(
    (code, { start, length }) => code.slice(0, 2 * start) + shares.slice(2) + code.slice(2 * (start + length)),
    hex,
  )
  const vault = await created(await send(undefined, `0x${linked}${word(1)}`))
  const left = await created(await send(undefined, `0x${bytecode(folder, 'Left').hex}`))
  const put = await send(vault, `${PUT}${word(10)}`)
  const failed = await send(vault, `${PUT}${word(5000)}`)
  const unmade = await send(undefined, `0x${linked}${word(0)}`)
  return { vault, shares, left, put, failed, unmade }
}
