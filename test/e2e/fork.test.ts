// A development chain that forks another node: a Hearth and an anvil, with the same requests. The
// remote node is reached through a proxy that counts its requests, and that can be slow, refuse, or
// die in the middle.
import fs from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assemble } from '../../ts/dev/demo/assembler.ts'
import { freePort } from '../free-port.mjs'
import { ABI, DEPLOY } from './contract.ts'
import { type DevNode, startDev, startNamed } from './dev-node.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { nodesBeside } from './peer.ts'
import { until } from './waiting.ts'

const SENDER = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const OTHER = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const NOBODY = '0x00000000000000000000000000000000000000aa'

const result = async (url: string, method: string, params: readonly unknown[] = []): Promise<unknown> => {
  const answer = await rpc(url, method, [...params])
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`)
  return answer.result
}

/** Sends a transaction and gives its receipt. */
async function send(
  url: string,
  transaction: object,
): Promise<{ transactionHash: Hex; contractAddress: Hex; status: Hex; blockNumber: Hex }> {
  const hash = await result(url, 'eth_sendTransaction', [{ from: SENDER, gas: '0x100000', ...transaction }])
  // anvil may give the hash before the block is there.
  const receipt = () => result(url, 'eth_getTransactionReceipt', [hash])
  await until('the receipt', async () => (await receipt()) !== null)
  return (await receipt()) as Awaited<ReturnType<typeof send>>
}

const set = (value: bigint): Hex => encodeFunctionData({ abi: ABI, functionName: 'set', args: [value] })
const GET = encodeFunctionData({ abi: ABI, functionName: 'get' })

/** Stands between a fork and its origin. */
class FaultyProxy {
  readonly asked: string[] = []
  readonly bodies: unknown[] = []
  /** How long each answer is held back, in milliseconds. */
  delayMs = 0
  /** Answers in place of the origin, where it gives one. */
  instead: ((method: string) => { status?: number; body?: unknown } | undefined) | undefined
  url = ''
  private readonly server: http.Server

  constructor(origin: string) {
    this.server = http.createServer(async (request, response) => {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part as Buffer)
      const body = JSON.parse(Buffer.concat(parts).toString()) as
        | { method: string; params: unknown[] }
        | { method: string; params: unknown[] }[]
      const calls = Array.isArray(body) ? body : [body]
      this.asked.push(...calls.map(({ method }) => method))
      this.bodies.push(body)
      if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs))
      const instead = calls.map(({ method }) => this.instead?.(method)).find((answer) => answer !== undefined)
      if (instead !== undefined) {
        response.writeHead(instead.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(instead.body ?? null))
        return
      }
      const answer = await fetch(origin, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(Buffer.from(await answer.arrayBuffer()))
    })
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(port, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  count(method: string): number {
    return this.asked.filter((name) => name === method).length
  }
}

const startFork = (url: string, ...args: string[]): Promise<RunningNode> => startNode(['dev', '--fork-url', url, ...args])

for (const name of nodesBeside('anvil', 'a fork')) {
  describe(`a fork of ${name}`, () => {
    let origin: DevNode
    let proxy: FaultyProxy
    let fork: RunningNode
    let contract: Hex
    let setHash: Hex
    let first: number
    beforeAll(async () => {
      origin = await startNamed(name)
      contract = (await send(origin.url, { data: DEPLOY })).contractAddress
      setHash = (await send(origin.url, { to: contract, data: set(42n) })).transactionHash
      await send(origin.url, { to: NOBODY, value: '0x7' })
      first = Number(await result(origin.url, 'eth_blockNumber'))
      proxy = new FaultyProxy(origin.url)
      await proxy.listen()
      fork = await startFork(proxy.url)
    })
    afterAll(async () => {
      expect(await fork.stop()).toBe(0)
      await proxy.close()
      await origin.stop()
    })

    it('begins at the origin’s head, with its id, fee and time', async () => {
      const head = (await result(origin.url, 'eth_getBlockByNumber', ['latest', false])) as Record<string, Hex>
      expect(Number(await result(fork.url, 'eth_blockNumber'))).toBe(first)
      expect(await result(fork.url, 'eth_chainId')).toBe(await result(origin.url, 'eth_chainId'))
      const here = (await result(fork.url, 'eth_getBlockByNumber', ['latest', false])) as Record<string, Hex>
      expect([here.hash, here.timestamp, here.baseFeePerGas, here.transactions]).toEqual([
        head.hash,
        head.timestamp,
        head.baseFeePerGas,
        head.transactions,
      ])
      expect(fork.log()).toContain(`A fork of ${proxy.url} after block ${first}.`)
    })

    it('has the origin’s state: balances, nonces, code, slots', async () => {
      expect(await result(fork.url, 'eth_getBalance', [NOBODY, 'latest'])).toBe('0x7')
      expect(await result(fork.url, 'eth_getTransactionCount', [SENDER, 'latest'])).toBe('0x3')
      expect(await result(fork.url, 'eth_getCode', [contract, 'latest'])).toBe(
        await result(origin.url, 'eth_getCode', [contract, 'latest']),
      )
      expect(await result(fork.url, 'eth_getStorageAt', [contract, '0x0', 'latest'])).toBe(`0x${42n.toString(16).padStart(64, '0')}`)
      expect(await result(fork.url, 'eth_getStorageAt', [contract, '0x9', 'latest'])).toBe(`0x${'0'.repeat(64)}`)
      expect(BigInt((await result(fork.url, 'eth_call', [{ to: contract, data: GET }, 'latest'])) as Hex)).toBe(42n)
      expect(await result(fork.url, 'eth_getBalance', ['0x00000000000000000000000000000000000000bb', 'latest'])).toBe('0x0')
    })

    it('fetches a value once, for concurrent and later reads', async () => {
      const account = `0x${'cd'.repeat(20)}`
      const before = proxy.count('eth_getProof')
      const call = { to: account, data: '0x' }
      await Promise.all(Array.from({ length: 16 }, () => result(fork.url, 'eth_call', [call, 'latest'])))
      await result(fork.url, 'eth_getBalance', [account, 'latest'])
      expect(proxy.count('eth_getProof') - before).toBe(1)
      expect(proxy.bodies.some((body) => Array.isArray(body) && body.length >= 2)).toBe(true)
    })

    it('continues from there: own writes hold, the origin keeps its', async () => {
      const mined = await send(fork.url, { to: contract, data: set(43n) })
      expect([mined.status, Number(mined.blockNumber)]).toEqual(['0x1', first + 1])
      expect(BigInt((await result(fork.url, 'eth_call', [{ to: contract, data: GET }, 'latest'])) as Hex)).toBe(43n)
      const below = `0x${first.toString(16)}`
      expect(BigInt((await result(fork.url, 'eth_call', [{ to: contract, data: GET }, below])) as Hex)).toBe(42n)
      expect(BigInt((await result(origin.url, 'eth_call', [{ to: contract, data: GET }, 'latest'])) as Hex)).toBe(42n)
      const zero = `0x${'0'.repeat(64)}`
      await result(fork.url, 'anvil_setStorageAt', [contract, zero, zero])
      expect(await result(fork.url, 'eth_getStorageAt', [contract, '0x0', 'latest'])).toBe(zero)
      await result(fork.url, 'anvil_setBalance', [NOBODY, '0x0'])
      expect(await result(fork.url, 'eth_getBalance', [NOBODY, 'latest'])).toBe('0x0')
      await result(fork.url, 'evm_mine')
      expect(await result(fork.url, 'eth_getStorageAt', [contract, '0x0', 'latest'])).toBe(zero)
      expect(await result(fork.url, 'eth_getBalance', [NOBODY, 'latest'])).toBe('0x0')
    })

    it('goes back to the values of the origin with a snapshot', async () => {
      const account = '0x00000000000000000000000000000000000000cc'
      const snapshot = await result(fork.url, 'evm_snapshot')
      const before = await result(fork.url, 'eth_getBalance', [OTHER, 'latest'])
      await send(fork.url, { to: OTHER, value: '0x1' })
      await send(fork.url, { to: account, value: '0x1' })
      expect(await result(fork.url, 'evm_revert', [snapshot])).toBe(true)
      expect(await result(fork.url, 'eth_getBalance', [OTHER, 'latest'])).toBe(before)
      expect(await result(fork.url, 'eth_getBalance', [account, 'latest'])).toBe('0x0')
    })

    it('knows earlier blocks, receipts, logs, traces as the origin', async () => {
      const same = async (method: string, params: unknown[]): Promise<void> => {
        expect(await result(fork.url, method, params), method).toEqual(await result(origin.url, method, params))
      }
      await same('eth_getBlockByNumber', ['0x1', true])
      await same('eth_getBlockByNumber', ['earliest', false])
      await same('eth_getTransactionByHash', [setHash])
      await same('eth_getTransactionReceipt', [setHash])
      await same('eth_getBalance', [NOBODY, '0x1'])
      await same('eth_getLogs', [{ fromBlock: '0x0', toBlock: `0x${first.toString(16)}`, address: contract }])
      await same('debug_traceTransaction', [setHash, { tracer: 'callTracer' }])
      const block = (await result(origin.url, 'eth_getBlockByNumber', ['0x2', false])) as { hash: Hex }
      await same('eth_getBlockByHash', [block.hash, true])
      expect(await result(fork.url, 'eth_getTransactionReceipt', [`0x${'12'.repeat(32)}`])).toBeNull()
    })

    it('has logs of both sides in one answer, traces its own', async () => {
      const { transactionHash } = await send(fork.url, { to: contract, data: set(44n) })
      const logs = (await result(fork.url, 'eth_getLogs', [{ fromBlock: '0x0', address: contract }])) as {
        transactionHash: Hex
        data: Hex
      }[]
      expect(logs.map(({ data }) => BigInt(data))).toEqual([42n, 43n, 44n])
      expect(logs.at(-1)?.transactionHash).toBe(transactionHash)
      const trace = await result(fork.url, 'debug_traceTransaction', [transactionHash, { tracer: 'prestateTracer' }])
      expect(Object.keys(trace as object)).toContain(contract.toLowerCase())
      const call = await result(fork.url, 'debug_traceCall', [
        { from: SENDER, to: contract, data: GET },
        'latest',
        { tracer: 'callTracer' },
      ])
      expect(call).toMatchObject({ to: contract.toLowerCase(), output: `0x${44n.toString(16).padStart(64, '0')}` })
    })

    it('gives BLOCKHASH of blocks of the origin', async () => {
      // NUMBER - 3, BLOCKHASH, to memory, returned.
      const code = '0x6003430340' + '60005260206000f3'
      const head = Number(await result(fork.url, 'eth_blockNumber'))
      const hash = await result(fork.url, 'eth_call', [{ to: OTHER, data: '0x' }, 'latest', { [OTHER]: { code } }])
      const block = (await result(fork.url, 'eth_getBlockByNumber', [`0x${(head - 3).toString(16)}`, false])) as { hash: Hex }
      expect(hash).toBe(block.hash)
    })
  })
}

describe('a fork of a chain with one contract', () => {
  let origin: DevNode
  let contract: Hex
  beforeAll(async () => {
    origin = await startDev()
    contract = (await send(origin.url, { data: DEPLOY })).contractAddress
    await send(origin.url, { to: contract, data: set(42n) })
  })
  afterAll(async () => {
    await origin.stop()
  })

  // Each has a proxy and a fork of its own, and waits most of its time.
  describe.concurrent('an origin that does not do well', () => {
    const call = (): unknown[] => [{ to: contract, data: GET }, 'latest']

    /** A proxy and a fork of it. */
    async function forked(...args: string[]): Promise<{ proxy: FaultyProxy; fork: RunningNode }> {
      const proxy = new FaultyProxy(origin.url)
      // It may be closed and come back, and no connection of another test may have its port then.
      await proxy.listen(await freePort())
      return { proxy, fork: await startFork(proxy.url, '--dev.fork_verify=off', ...args) }
    }

    it('dies in the middle: an error, never a zero, then the value', async () => {
      const { proxy, fork } = await forked('--fork-timeout', '5s', '--evm.simulation_evm_timeout=1m')
      proxy.instead = (method) => (method === 'eth_getStorageAt' ? { status: 503 } : undefined)
      const failed = await rpc(fork.url, 'eth_call', call())
      expect(failed.result).toBeUndefined()
      expect(failed.error).toMatchObject({
        code: -32000,
        message: expect.stringMatching(/origin of the fork: .*eth_getStorageAt: no answer .* in 5000 ms: HTTP status 503/),
      })
      const port = Number(new URL(proxy.url).port)
      await proxy.close()
      const dead = await rpc(fork.url, 'eth_getStorageAt', [contract, '0x5', 'latest'])
      expect(dead.error?.message).toMatch(/origin of the fork/)
      expect(
        (await rpc(fork.url, 'eth_sendTransaction', [{ from: SENDER, to: contract, data: set(1n), gas: '0x100000' }])).error,
      ).toBeDefined()
      const back = new FaultyProxy(origin.url)
      await back.listen(port)
      expect(BigInt((await result(fork.url, 'eth_call', call())) as Hex)).toBe(42n)
      expect((await send(fork.url, { to: contract, data: set(43n) })).status).toBe('0x1')
      expect(await fork.stop()).toBe(0)
      await back.close()
    })

    it('is slow: an answer when it comes, or an error in time', async () => {
      // Many times the first delay: on a busy machine an answer takes seconds more.
      const { proxy, fork } = await forked('--fork-timeout', '20s')
      proxy.delayMs = 500
      expect(BigInt((await result(fork.url, 'eth_call', call())) as Hex)).toBe(42n)
      // Longer than this test may take.
      proxy.delayMs = 3_600_000
      const late = await rpc(fork.url, 'eth_getStorageAt', [contract, '0x6', 'latest'])
      expect(late.error?.message).toMatch(/no answer from http:\/\/127\.0\.0\.1:\d+ in 20000 ms/)
      // What needs nothing of the origin does not wait for it.
      expect(Number(await result(fork.url, 'eth_blockNumber'))).toBeGreaterThan(0)
      proxy.delayMs = 0
      expect(await fork.stop()).toBe(0)
      await proxy.close()
    })

    it('is slow: the wait is no time of the call, and is bounded', async () => {
      // One slot after the other, each with a wait of its own: together longer than the call may
      // run, and than its waits may last.
      const SLOTS = 12
      const delayMs = 300
      const reads = Array.from({ length: SLOTS }, (_, i) => `60${(i + 64).toString(16)}5450`).join('')
      // A call at the end, to the identity precompile: there the clock is looked at.
      const code = `0x${reads}5f5f5f5f5f60045af150602a5f5260205ff3`
      const params = [{ to: contract }, 'latest', { [contract]: { code } }]
      const answer = `0x${42n.toString(16).padStart(64, '0')}`
      const { proxy, fork } = await forked('--evm.simulation_evm_timeout=2s', '--fork-timeout', '1m')
      proxy.delayMs = delayMs
      expect(await rpc(fork.url, 'eth_call', params)).toMatchObject({ result: answer })
      expect(proxy.count('eth_getStorageAt') * delayMs).toBeGreaterThan(2000)
      expect(await fork.stop()).toBe(0)
      proxy.delayMs = 0
      const impatient = await startFork(proxy.url, '--dev.fork_verify=off', '--evm.simulation_evm_timeout=1m', '--fork-timeout', '2500ms')
      proxy.delayMs = delayMs
      const late = await rpc(impatient.url, 'eth_call', params)
      expect(late.error?.message).toMatch(/origin of the fork: .* \(dev\.fork_timeout\)/)
      // What came is kept, so that tries come to an end.
      await until('an answer', async () => (await rpc(impatient.url, 'eth_call', params)).result === answer)
      expect(await impatient.stop()).toBe(0)
      await proxy.close()
    })

    it('is busy for a while: the request is tried again', async () => {
      const { proxy, fork } = await forked()
      let refusals = 3
      proxy.instead = (method) => (method === 'eth_getStorageAt' && refusals-- > 0 ? { status: 429 } : undefined)
      expect(BigInt((await result(fork.url, 'eth_call', call())) as Hex)).toBe(42n)
      expect(refusals).toBeLessThanOrEqual(0)
      expect(await fork.stop()).toBe(0)
      await proxy.close()
    })

    it.each([
      ['null', null],
      ['no hex', '42'],
      ['a number', 42],
      ['too long a word', `0x${'11'.repeat(33)}`],
      ['an empty quantity', '0x'],
    ])('answers %s in place of a value: an error that is not kept', async (_, bad) => {
      const { proxy, fork } = await forked('--fork-timeout', '5s')
      proxy.instead = (method) => (method === 'eth_getStorageAt' ? { body: { jsonrpc: '2.0', id: 0, result: bad } } : undefined)
      const failed = await rpc(fork.url, 'eth_call', call())
      expect(failed.error?.message).toMatch(/origin of the fork/)
      proxy.instead = undefined
      expect(BigInt((await result(fork.url, 'eth_call', call())) as Hex)).toBe(42n)
      expect(await fork.stop()).toBe(0)
      await proxy.close()
    })

    it('has another chain after a failure: an error', async () => {
      const { proxy, fork } = await forked('--fork-timeout', '1m')
      let refusals = 1
      const lie = { number: '0x2', hash: `0x${'11'.repeat(32)}` }
      proxy.instead = (method) => {
        if (method === 'eth_getStorageAt' && refusals-- > 0) return { status: 500 }
        return method === 'eth_getBlockByNumber' ? { body: [0, 1].map((id) => ({ jsonrpc: '2.0', id, result: lie })) } : undefined
      }
      const failed = await rpc(fork.url, 'eth_call', call())
      expect(failed.error?.message).toMatch(/is another one now/)
      expect(await fork.stop()).toBe(0)
      await proxy.close()
    })
  })

  describe.concurrent('proofs of an origin', () => {
    const call = (): unknown[] => [{ to: contract, data: GET }, 'latest']
    const noMethod = { error: { code: -32601, message: 'the method eth_getProof does not exist' } }
    const reply = (method: string, wanted: string, answer: object) =>
      method === wanted ? { body: { jsonrpc: '2.0', id: 0, ...answer } } : undefined

    it('that do not fit are an error that is not kept', async () => {
      const proxy = new FaultyProxy(origin.url)
      await proxy.listen()
      const fork = await startFork(proxy.url, '--fork-timeout', '5s')
      expect(fork.log()).not.toContain('is not verified')
      expect(await result(fork.url, 'eth_getBalance', [contract, 'latest'])).toBe('0x0')
      proxy.instead = (method) => reply(method, 'eth_getProof', { result: { accountProof: [], storageProof: [] } })
      const failed = await rpc(fork.url, 'eth_call', call())
      expect(failed.error?.message).toMatch(/origin of the fork: its proof of 0x\w{40} does not fit the state root/)
      proxy.instead = undefined
      expect(BigInt((await result(fork.url, 'eth_call', call())) as Hex)).toBe(42n)
      expect([proxy.count('eth_getStorageAt'), proxy.count('eth_getBalance')]).toEqual([0, 0])
      expect(await fork.stop()).toBe(0)
      await proxy.close()
    })

    it('that it does not give are missed, and the log says so', async () => {
      const proxy = new FaultyProxy(origin.url)
      await proxy.listen()
      proxy.instead = (method) => reply(method, 'eth_getProof', noMethod)
      const fork = await startFork(proxy.url)
      const line = `the state of ${proxy.url} is not verified (dev.fork_verify): eth_getProof: ${noMethod.error.message}`
      expect(fork.log()).toContain(line)
      expect(BigInt((await result(fork.url, 'eth_call', call())) as Hex)).toBe(42n)
      expect(proxy.count('eth_getProof')).toBe(1)
      expect(await fork.stop()).toBe(0)
      const strict = startFork(proxy.url, '--dev.fork_verify=on')
      await expect(strict).rejects.toThrow(`cannot fork ${proxy.url} with dev.fork_verify=on: eth_getProof: ${noMethod.error.message}`)
      await proxy.close()
    })

    it('that it gives no more are missed, and the log says so', async () => {
      const proxy = new FaultyProxy(origin.url)
      await proxy.listen()
      const fork = await startFork(proxy.url)
      expect(await result(fork.url, 'eth_getBalance', [contract, 'latest'])).toBe('0x0')
      proxy.instead = (method) => reply(method, 'eth_getProof', noMethod)
      expect(BigInt((await result(fork.url, 'eth_call', call())) as Hex)).toBe(42n)
      expect(fork.log()).toContain(`the state of ${proxy.url} is not verified (dev.fork_verify)`)
      expect(proxy.count('eth_getStorageAt')).toBe(1)
      expect(await fork.stop()).toBe(0)
      await proxy.close()
    })
  })

  describe('what a fork keeps', () => {
    it('is there after a restart, at its block, as the origin grows', async () => {
      const home = tempHome()
      const proxy = new FaultyProxy(origin.url)
      await proxy.listen()
      const args = ['--home', home]
      const one = await startFork(proxy.url, ...args)
      const first = Number(await result(one.url, 'eth_blockNumber'))
      expect(BigInt((await result(one.url, 'eth_call', [{ to: contract, data: GET }, 'latest'])) as Hex)).toBe(42n)
      await send(one.url, { to: OTHER, value: '0x5' })
      const balance = await result(one.url, 'eth_getBalance', [OTHER, 'latest'])
      expect(await one.stop()).toBe(0)
      expect(fs.existsSync(path.join(home, 'data/fork/31337', String(first)))).toBe(true)

      await send(origin.url, { to: contract, data: set(99n) })
      const asked = proxy.asked.length
      const two = await startFork(proxy.url, ...args)
      expect(Number(await result(two.url, 'eth_blockNumber'))).toBe(first + 1)
      expect(BigInt((await result(two.url, 'eth_call', [{ to: contract, data: GET }, 'latest'])) as Hex)).toBe(42n)
      expect(await result(two.url, 'eth_getBalance', [OTHER, 'latest'])).toBe(balance)
      expect(proxy.asked.slice(asked).filter((method) => method !== 'eth_chainId' && method !== 'eth_getBlockByNumber')).toEqual([
        // Whether it still gives proofs.
        'eth_getProof',
      ])
      expect(await two.stop()).toBe(0)

      const without = hearth(['dev', '--home', home, '--port', '0', '--evm.ws_port=0', '--metrics.port=0'])
      expect([without.status, without.stderr]).toEqual([3, expect.stringMatching(/is a fork of another chain: give its origin/)])
      const elsewhere = hearth(['dev', '--home', home, '--fork-url', proxy.url, '--fork-block', '1'])
      expect([elsewhere.status, elsewhere.stderr]).toEqual([1, expect.stringContaining(`is a fork after block ${first}`)])
      fs.rmSync(home, { recursive: true, force: true })
      await proxy.close()
    })

    it('stays within its bytes, and what went is read again', async () => {
      const home = tempHome()
      const bytes = 24_000
      const codes = Array.from({ length: 64 }, (_, i) => Buffer.alloc(bytes, i + 1))
      const deployed: Hex[] = []
      for (const runtime of codes) {
        const data = Buffer.from(assemble('!runtime DUP1 &runtime 0 CODECOPY 0 RETURN', { parts: { runtime } })).toString('hex')
        deployed.push((await send(origin.url, { data: `0x${data}`, gas: '0x900000' })).contractAddress)
      }
      const proxy = new FaultyProxy(origin.url)
      await proxy.listen()
      const fork = await startFork(proxy.url, '--home', home, '--dev.fork_cache_bytes=1 MiB')
      const code = (i: number): Promise<unknown> => result(fork.url, 'eth_getCode', [deployed[i], 'latest'])
      for (const [i, runtime] of codes.entries()) expect(await code(i)).toBe(`0x${runtime.toString('hex')}`)
      const kept = fs
        .readdirSync(path.join(home, 'data/fork/31337'), { recursive: true, withFileTypes: true })
        .filter((file) => file.isFile())
      const size = kept.reduce((sum, file) => sum + fs.statSync(path.join(file.parentPath, file.name)).size, 0)
      expect(size).toBeGreaterThan(512 * 1024)
      expect(size).toBeLessThan(1024 * 1024 + 2 * bytes)
      const asked = proxy.count('eth_getCode')
      expect(await code(codes.length - 1)).toBe(`0x${codes.at(-1)?.toString('hex')}`)
      expect(proxy.count('eth_getCode')).toBe(asked)
      expect(await code(0)).toBe(`0x${codes[0]?.toString('hex')}`)
      expect(proxy.count('eth_getCode')).toBeGreaterThan(asked)
      expect(await fork.stop()).toBe(0)
      await proxy.close()
      fs.rmSync(home, { recursive: true, force: true })
    })

    it('has nothing of a contract destroyed here, all before that', async () => {
      // CALLER SELFDESTRUCT; two slots are written when it is made.
      const runtime = Uint8Array.of(0x33, 0xff)
      const made = assemble('42 0 SSTORE 43 1 SSTORE !runtime DUP1 &runtime 0 CODECOPY 0 RETURN', { parts: { runtime } })
      const doomed = (await send(origin.url, { data: `0x${Buffer.from(made).toString('hex')}` })).contractAddress
      // Before Cancun a contract goes whenever it says so (EIP-6780).
      const fork = await startFork(origin.url, '--hardfork', 'shanghai')
      const below = await result(fork.url, 'eth_blockNumber')
      expect(BigInt((await result(fork.url, 'eth_getStorageAt', [doomed, '0x0', 'latest'])) as Hex)).toBe(42n)
      expect((await send(fork.url, { to: doomed })).status).toBe('0x1')
      for (let blocks = 0; blocks < 2; blocks++) {
        expect(await result(fork.url, 'eth_getCode', [doomed, 'latest'])).toBe('0x')
        for (const slot of ['0x0', '0x1'])
          expect(BigInt((await result(fork.url, 'eth_getStorageAt', [doomed, slot, 'latest'])) as Hex)).toBe(0n)
        // An account there again has none of the storage either.
        await result(fork.url, 'anvil_setNonce', [doomed, '0x5'])
        await result(fork.url, 'evm_mine')
      }
      expect(BigInt((await result(fork.url, 'eth_getStorageAt', [doomed, '0x1', below])) as Hex)).toBe(43n)
      expect(await fork.stop()).toBe(0)
    })

    it('takes a block of the past, and refuses origins that are none', async () => {
      const fork = await startFork(origin.url, '--fork-block', '1')
      expect(await result(fork.url, 'eth_blockNumber')).toBe('0x1')
      expect(BigInt((await result(fork.url, 'eth_call', [{ to: contract, data: GET }, 'latest'])) as Hex)).toBe(0n)
      expect(await fork.stop()).toBe(0)
      const tried = (...args: string[]): string => {
        const run = hearth(['dev', '--port', '0', '--evm.ws_port=0', '--metrics.port=0', ...args])
        expect(run.status).toBe(1)
        return run.stderr
      }
      // The system accepts connections to it, but no answer comes.
      const silent = net.createServer()
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
      const nowhere = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
      expect(tried('--fork-timeout', '500ms', '--fork-url', nowhere)).toMatch(/cannot fork http:\/\/127\.0\.0\.1:\d+: .*no answer/)
      silent.close()
      expect(tried('--fork-timeout', '500ms', '--fork-url', 'http://127.0.0.1:1')).toMatch(
        /cannot fork http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/,
      )
      expect(tried('--fork-url', origin.url, '--fork-block', '99999')).toMatch(/it has no block 99999/)
    })
  })
})
