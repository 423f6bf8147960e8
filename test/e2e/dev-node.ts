// Development nodes that tests run the same requests against: ours, anvil's, geth's.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../free-port.mjs'
import { endOf, ROOT, type RunningNode, rpc, startNode } from './harness.ts'

/** A development node that runs. */
export interface DevNode {
  readonly name: 'hearth' | 'anvil' | 'geth'
  readonly url: string
  /** What it printed. */
  readonly log: () => string
  readonly stop: () => Promise<unknown>
}

/** How long another node may take until it answers, in milliseconds. */
const ANSWER_MS_MAX = 200_000

/** anvil out of its npm package. */
const ANVIL = path.join(
  ROOT,
  'node_modules/@foundry-rs',
  `anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`,
  process.platform === 'win32' ? 'bin/anvil.exe' : 'bin/anvil',
)

/** geth on the PATH or where Go installs it; undefined where it is not. */
const geth = (): string | undefined =>
  ['geth', path.join(os.homedir(), 'go/bin/geth')].find((command) => spawnSync(command, ['version']).status === 0)

/** Whether this is the full run, in which tests run on other nodes too. */
export const FULL = process.env.HEARTH_TEST === 'full'

/**
 * Why a node is not started here; undefined where it is. What other nodes answer is of the full run
 * alone: it takes their start and their time, and changes with their releases.
 */
export function missing(name: DevNode['name']): string | undefined {
  if (name !== 'hearth' && !FULL) return `${name} runs in full mode (npm run test:full)`
  if (name === 'anvil' && !fs.existsSync(ANVIL)) return `anvil has no package for ${process.platform} ${process.arch}`
  if (name === 'geth' && geth() === undefined) return 'geth is neither on the PATH nor in ~/go/bin'
  return undefined
}

/** Starts `hearth dev` with these arguments; what it keeps goes away with it. */
export async function startDev(args: readonly string[] = []): Promise<DevNode & RunningNode> {
  return { ...(await startNode(['dev', ...args])), name: 'hearth' }
}

/** Runs another program and waits until it answers at its port. */
async function start(name: DevNode['name'], command: string, args: readonly string[], port: number): Promise<DevNode> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = endOf(child)
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      log += data.toString()
    })
  }
  const url = `http://127.0.0.1:${port}`
  const stop = (): Promise<unknown> => {
    child.kill('SIGTERM')
    return ended
  }
  for (const until = Date.now() + ANSWER_MS_MAX; Date.now() < until && child.exitCode === null; ) {
    const answer = await rpc(url, 'eth_blockNumber').catch(() => undefined)
    if (answer?.result !== undefined) return { name, url, log: () => log, stop }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  child.kill('SIGKILL')
  throw new Error(`${command} gave no answer:\n${log}`)
}

/** Starts anvil with these arguments. */
export async function startAnvil(args: readonly string[] = []): Promise<DevNode> {
  const port = await freePort()
  return start('anvil', ANVIL, ['--port', String(port), ...args], port)
}

/** Starts geth with a development chain in memory. */
export async function startGeth(): Promise<DevNode> {
  const [port, auth] = [await freePort(), await freePort()]
  const quiet = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--authrpc.port', String(auth)]
  const open = ['--http', '--http.port', String(port), '--http.api', 'eth,debug,net,web3,txpool']
  return start('geth', geth() as string, ['--dev', ...quiet, ...open], port)
}

/**
 * Starts geth on another chain: a genesis, and blocks in the format of `geth export`. Its folder is
 * removed with it.
 */
export async function startGethOn(genesis: string, blocks: string): Promise<DevNode> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-geth-'))
  const home = ['--datadir', folder, '--state.scheme=hash', '--gcmode=archive']
  for (const command of [
    ['init', genesis],
    ['import', blocks],
  ]) {
    const done = spawnSync(geth() as string, [...home, ...command])
    if (done.status !== 0) throw new Error(`geth ${command[0]} failed:\n${done.stderr}`)
  }
  const [port, auth] = [await freePort(), await freePort()]
  const quiet = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--authrpc.port', String(auth)]
  const node = await start(
    'geth',
    geth() as string,
    [...home, ...quiet, '--http', '--http.port', String(port), '--http.api', 'eth,debug'],
    port,
  )
  const stop = async (): Promise<unknown> => {
    const ended = await node.stop()
    fs.rmSync(folder, { recursive: true, force: true })
    return ended
  }
  return { ...node, stop }
}

/** Starts a development node by its name. */
export const startNamed = (name: DevNode['name']): Promise<DevNode> =>
  name === 'hearth' ? startDev() : name === 'anvil' ? startAnvil() : startGeth()
