// Nodes under CometBFT as processes: started, killed, read, and given transactions.
import { type ChildProcess, execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type Hex, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { endOf, hearth, rpc, spawnHearth } from './harness.ts'
import { until } from './waiting.ts'

const MNEMONIC = 'test test test test test test test test test test test junk'

/** Wei that a transfer carries, and the price of its gas. */
const [VALUE, GAS_PRICE] = [1n, 20_000_000_000n]

/** A block as JSON-RPC gives it, as far as tests look into it. */
export interface Block {
  readonly number: Hex
  readonly hash: Hex
  readonly extraData: Hex
  readonly parentBeaconBlockRoot: Hex
  readonly transactions: readonly Hex[]
}

/** A signed transfer of a development account. */
export const transfer = (chainId: number, sender: number, nonce: number): Promise<Hex> =>
  mnemonicToAccount(MNEMONIC, { addressIndex: sender }).signTransaction({
    type: 'legacy',
    chainId,
    nonce,
    gas: 21_000n,
    gasPrice: GAS_PRICE,
    to: `0x${'ee'.repeat(20)}`,
    value: VALUE,
  })

/** Processes by their parents. */
function childrenOf(pid: number): number[] {
  try {
    return execFileSync('ps', ['--ppid', String(pid), '-o', 'pid='], { encoding: 'utf8' })
      .trim()
      .split(/\s+/)
      .filter(Boolean)
      .map(Number)
  } catch {
    return []
  }
}

const nameOf = (pid: number): string => {
  try {
    return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}

/** Ports of a node, as testnet.json has them. */
export interface Ports {
  readonly http: number
  readonly rpc: number
}

/** A node of a network, started and stopped any number of times. */
export class NetworkNode {
  readonly name: string
  readonly home: string
  readonly url: string
  readonly comet: string
  private readonly flags: readonly string[]
  private child: ChildProcess | undefined
  private ended: Promise<number | string | null> = Promise.resolve(null)
  log = ''

  constructor(name: string, home: string, { http, rpc: port }: Ports, flags: readonly string[]) {
    this.name = name
    this.home = home
    this.url = `http://127.0.0.1:${http}`
    this.comet = `http://127.0.0.1:${port}`
    this.flags = flags
  }

  /** Starts it, and waits for nothing. */
  start(more: readonly string[] = []): void {
    const child = spawnHearth(['start', '--home', this.home, ...this.flags, ...more])
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data: Buffer) => {
        this.log += data.toString()
      })
    this.child = child
    this.ended = endOf(child)
  }

  get pid(): number {
    return this.child?.pid as number
  }

  /** Its CometBFT; undefined where none runs. */
  get engine(): number | undefined {
    return childrenOf(this.pid).find((pid) => nameOf(pid).startsWith('cometbft'))
  }

  /** Ends the process with a signal; resolves to how it ended. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string | null> {
    if (this.child?.exitCode === null && this.child.signalCode === null) this.child.kill(signal)
    return await this.ended
  }

  /** Resolves to how it ended by itself. */
  whenEnded(): Promise<number | string | null> {
    return this.ended
  }

  async ask<T>(method: string, ...params: unknown[]): Promise<T> {
    const { result, error } = await rpc(this.url, method, params)
    if (error !== undefined) throw new Error(`${this.name}: ${method}: ${error.message}`)
    return result as T
  }

  /** An answer of the RPC of CometBFT. */
  async comets<T>(query: string): Promise<T> {
    const answer = (await (await fetch(`${this.comet}/${query}`)).json()) as { result?: T; error?: unknown }
    if (answer.result === undefined) throw new Error(`${this.name}: ${query}: ${JSON.stringify(answer.error)}`)
    return answer.result
  }

  async height(): Promise<number> {
    return Number(await this.ask<Hex>('eth_blockNumber'))
  }

  block(height: number | string): Promise<Block> {
    return this.ask('eth_getBlockByNumber', typeof height === 'number' ? toHex(height) : height, false)
  }

  /** Waits until its head is so high. */
  async reaches(height: number): Promise<void> {
    await until(
      () => `${this.name} at height ${height}:\n${this.log.slice(-3000)}`,
      () =>
        this.height()
          .then((h) => h >= height)
          .catch(() => false),
      50,
    )
  }

  /** Waits for a receipt: its block. */
  async receipt(hash: Hex): Promise<number> {
    let found: { blockNumber: Hex; status: Hex } | null = null
    await until(`the receipt of ${hash} on ${this.name}`, async () => {
      found = await this.ask<typeof found>('eth_getTransactionReceipt', hash).catch(() => null)
      return found !== null
    })
    const { blockNumber, status } = found as unknown as { blockNumber: Hex; status: Hex }
    if (status !== '0x1') throw new Error(`${hash} failed`)
    return Number(blockNumber)
  }

  /** `/ready`: its status and text. */
  async ready(): Promise<{ readonly status: number; readonly text: string }> {
    const answer = await fetch(`${this.url}/ready`)
    return { status: answer.status, text: await answer.text() }
  }
}

/** Makes the homes of a network with `hearth testnet`. */
export function makeNetwork(
  dir: string,
  program: string,
  basePort: number,
  args: readonly string[],
  flags: readonly string[] = [],
): NetworkNode[] {
  const made = hearth(['testnet', '--dir', dir, '--base-port', String(basePort), ...args])
  if (made.status !== 0) throw new Error(`testnet: ${made.stderr}`)
  const { nodes } = JSON.parse(fs.readFileSync(path.join(dir, 'testnet.json'), 'utf8')) as {
    nodes: { name: string; home: string; ports: Ports }[]
  }
  return nodes.map(({ name, home, ports }) => new NetworkNode(name, home, ports, [`--consensus.cometbft_bin=${program}`, ...flags]))
}

/** Waits until all nodes have a height, and checks that their blocks up to it are the same. */
export async function sameBlocks(nodes: readonly NetworkNode[], from: number, to: number): Promise<void> {
  for (const node of nodes) await node.reaches(to)
  for (let height = from; height <= to; height++) {
    const hashes = await Promise.all(nodes.map((node) => node.block(height).then(({ hash }) => hash)))
    if (new Set(hashes).size !== 1) throw new Error(`block ${height} differs: ${hashes.join(', ')}`)
  }
}
