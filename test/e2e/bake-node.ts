// Common parts of the tests of baking: a development chain with calls to trace, traces with their
// origin, and waiting for the worker.
import { createWalletClient, type Hex, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { parseScrape, samplesOf } from '../unit/scrape.ts'
import { DEPLOY } from './contract.ts'
import { type RunningNode, rpc, startNode } from './harness.ts'
import { until } from './waiting.ts'

const account = mnemonicToAccount('test test test test test test test test test test test junk')

/** Address of the contract that `deploy` makes in the first block. */
export const CONTRACT: Hex = '0x5fbdb2315678afecb367f032d93f642f64180aa3'

/**
 * Code that calls the zero address until its gas is used up: fast to execute, slow to render; its
 * trace takes megabytes.
 */
export const CALLER: Hex = '0x5b5f5f5f5f5f5f5af1505f56'

/** The three tracers that can be baked. */
export const TRACERS = ['callTracer', 'prestateTracer', 'flatCallTracer'] as const

/** Settings that bake. */
export const BAKING = ['--evm.trace_bake_enabled=true', '--state-commit.flatkv.fsync=none']
export const ALL_TRACERS = `--evm.trace_bake_tracers=${TRACERS.join(',')}`

/** Starts a development chain on a home. */
export const startDev = (home: string, ...settings: string[]): Promise<RunningNode> => startNode(['dev', '--home', home, ...settings])

/** Signs transactions with ascending nonces, one a block. */
export class Sender {
  private readonly node: RunningNode
  private readonly wallet
  private nonce: number | undefined

  constructor(node: RunningNode) {
    this.node = node
    this.wallet = createWalletClient({ account, chain: hardhat, transport: http(node.url) })
  }

  /** A raw transaction; without `to` it creates a contract. */
  async sign(data: Hex | undefined, to?: Hex, gas = 500_000n): Promise<Hex> {
    this.nonce ??= Number((await rpc(this.node.url, 'eth_getTransactionCount', [account.address, 'latest'])).result)
    const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
    const common = { gas, nonce: this.nonce++, type: 'eip1559', ...fees } as const
    const request =
      to === undefined ? { ...common, data: data as Hex } : data === undefined ? { ...common, to, value: 1n } : { ...common, to, data }
    return await this.wallet.signTransaction(request)
  }

  /** Sends a transaction, which makes a block; resolves to its hash. */
  async send(data: Hex | undefined, to?: Hex, gas?: bigint): Promise<Hex> {
    const sent = await rpc(this.node.url, 'eth_sendRawTransaction', [await this.sign(data, to, gas)])
    if (sent.error !== undefined) throw new Error(sent.error.message)
    return sent.result as Hex
  }

  /** Makes blocks with a transfer each. */
  async transfers(count: number): Promise<Hex[]> {
    const hashes: Hex[] = []
    for (let i = 0; i < count; i++) hashes.push(await this.send(undefined, account.address))
    return hashes
  }

  /** Four blocks: the contract is made, set, refuses zero, is set again. */
  async scene(): Promise<Hex[]> {
    const set = (value: number): Hex => `0x60fe47b1${value.toString(16).padStart(64, '0')}`
    return [
      await this.send(DEPLOY),
      await this.send(set(7), CONTRACT),
      await this.send(set(0), CONTRACT),
      await this.send(set(9), CONTRACT),
    ]
  }
}

/** An answer with the origin that it names. */
export interface Traced {
  readonly text: string
  readonly result: unknown
  readonly error: { code: number; message: string } | undefined
  readonly from: string | null
}

/** Requests a trace. */
export async function trace(url: string, method: string, params: unknown[], encoding = 'identity'): Promise<Traced> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json', 'accept-encoding': encoding }
  const response = await fetch(url, { method: 'POST', headers, body })
  const text = await response.text()
  const { result, error } = JSON.parse(text) as { result: unknown; error: Traced['error'] }
  return { text, result, error, from: response.headers.get('x-hearth-trace') }
}

/** The three methods that are served from the cache, for a block with one transaction. */
export async function requestsOf(url: string, tx: Hex): Promise<[method: string, target: string][]> {
  const { blockNumber, blockHash } = (await rpc(url, 'eth_getTransactionReceipt', [tx])).result as {
    blockNumber: string
    blockHash: string
  }
  return [
    ['debug_traceTransaction', tx],
    ['debug_traceBlockByNumber', blockNumber],
    ['debug_traceBlockByHash', blockHash],
  ]
}

/** The samples of the scrape page by name. */
export async function metricsOf(node: RunningNode): Promise<Map<string, number>> {
  return samplesOf(parseScrape(await (await fetch(node.metrics as string)).text(), 'prometheus'))
}

/** A sample that must be there. */
export async function metric(node: RunningNode, name: string): Promise<number> {
  const value = (await metricsOf(node)).get(name)
  if (value === undefined) throw new Error(`no sample ${name}`)
  return value
}

/** Waits until nothing is left to bake. */
export async function allBaked(node: RunningNode, blocks: number): Promise<void> {
  await until('the end of baking', async () => {
    const samples = await metricsOf(node)
    return (
      (samples.get('bake_baked_blocks_total') ?? 0) >= blocks &&
      samples.get('bake_lag_blocks') === 0 &&
      samples.get('bake_queue_depth') === 0
    )
  })
}
