// Calls of the tests of development nodes.
import { expect } from 'vitest'
import { rpc } from './harness.ts'

/** A block as JSON-RPC has it, as far as these tests look. */
export interface Block {
  readonly number: string
  readonly hash: string
  readonly timestamp: string
  readonly miner: string
  readonly mixHash: string
  readonly gasLimit: string
  readonly baseFeePerGas: string
  readonly stateRoot: string
  readonly transactions: readonly string[]
}

/** Calls of one node: what an answer must be, or what a refusal says. */
export class Calls {
  readonly url: string

  constructor(url: string) {
    this.url = url
  }

  async call<T = unknown>(method: string, ...params: unknown[]): Promise<T> {
    const { result, error } = await rpc(this.url, method, params)
    expect(error, `${method} ${JSON.stringify(params)}`).toBeUndefined()
    return result as T
  }

  async refused(method: string, ...params: unknown[]): Promise<{ code: number; message: string }> {
    const { result, error } = await rpc(this.url, method, params)
    expect(result, `${method} ${JSON.stringify(params)}`).toBeUndefined()
    return error as { code: number; message: string }
  }

  async height(): Promise<number> {
    return Number(await this.call<string>('eth_blockNumber'))
  }

  async block(tag: string = 'latest'): Promise<Block> {
    return await this.call<Block>('eth_getBlockByNumber', tag, false)
  }

  async time(tag: string = 'latest'): Promise<number> {
    return Number((await this.block(tag)).timestamp)
  }

  async balance(address: string, tag: string = 'latest'): Promise<bigint> {
    return BigInt(await this.call<string>('eth_getBalance', address, tag))
  }

  async slot(address: string, tag: string = 'latest', slot = '0x0'): Promise<bigint> {
    return BigInt(await this.call<string>('eth_getStorageAt', address, slot, tag))
  }

  async send(from: string, to: string | undefined, more: object = {}): Promise<string> {
    return await this.call<string>('eth_sendTransaction', { from, to, ...more })
  }

  async trace<T = unknown>(hash: string, tracer: string, tracerConfig: object = {}): Promise<T> {
    return await this.call<T>('debug_traceTransaction', hash, { tracer, tracerConfig })
  }
}

/** The first accounts of the phrase that everyone knows. */
export const [ALICE, BOB] = ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'] as const
