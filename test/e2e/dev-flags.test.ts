// Flags of hearth dev about blocks: their order, their rules, their interval, and the values that
// they begin and end with.
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { ALICE, type Block, BOB, Calls } from './dev-calls.ts'
import { type RunningNode, startNode, tempHome } from './harness.ts'
import { until as holds } from './waiting.ts'

const running: RunningNode[] = []
afterEach(async () => {
  for (const node of running.splice(0)) await node.stop()
})

async function dev(...args: string[]): Promise<Calls & { readonly node: RunningNode }> {
  const node = await startNode(['dev', ...args])
  running.push(node)
  return Object.assign(new Calls(node.url), { node })
}

const CAROL = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'
const NOBODY = '0x00000000000000000000000000000000000000a1'
const GWEI = 1_000_000_000
const hex = (n: number): string => `0x${n.toString(16)}`

/** Waits until something is there. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  let found: T | undefined
  await holds('what is looked for', async () => {
    found = await look()
    return found !== undefined
  })
  return found as T
}

describe('--order', () => {
  /**
   * Sends three transactions whose tips rise in the order of arrival; returns their positions in
   * the block, and that of the best one.
   */
  async function mined(node: Calls): Promise<{ readonly sent: string[]; readonly block: Block }> {
    const sent: string[] = []
    for (const [i, from] of [ALICE, BOB, CAROL].entries())
      sent.push(
        await node.send(from, NOBODY, {
          value: '0x1',
          gas: '0x5208',
          maxFeePerGas: hex(20 * GWEI),
          maxPriorityFeePerGas: hex((i + 1) * GWEI),
        }),
      )
    await node.call('evm_mine')
    return { sent, block: await node.block() }
  }

  it('takes the best tip first without it, and with fees', async () => {
    for (const args of [[], ['--order', 'fees']]) {
      const node = await dev('--no-mining', ...args)
      const { sent, block } = await mined(node)
      expect(block.transactions).toEqual([...sent].reverse())
      expect(await node.call('anvil_nodeInfo')).toMatchObject({ transactionOrder: 'fees' })
    }
  })

  it('takes the first arrival with fifo, in order of nonces', async () => {
    const node = await dev('--no-mining', '--order', 'fifo')
    const { sent, block } = await mined(node)
    expect(block.transactions).toEqual(sent)
    expect(await node.call('anvil_nodeInfo')).toMatchObject({ transactionOrder: 'fifo' })
    const second = await node.send(ALICE, NOBODY, { nonce: '0x2', gas: '0x5208' })
    const other = await node.send(BOB, NOBODY, { gas: '0x5208' })
    const first = await node.send(ALICE, NOBODY, { nonce: '0x1', gas: '0x5208' })
    await node.call('evm_mine')
    const { transactions } = await node.block()
    expect([...transactions].sort()).toEqual([first, second, other].sort())
    expect(transactions.indexOf(first)).toBeLessThan(transactions.indexOf(second))
  })
})

describe('--hardfork', () => {
  /** Fields that a header has from a fork on. */
  const FIELDS = ['baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'] as const
  const [LONDON, SHANGHAI, CANCUN] = [1, 2, 5]
  /** Forks of which only the difficulty bomb knows come with some; theirs is the last name then. */
  const LAST_NAMES: Readonly<Record<string, string>> = { istanbul: 'muir glacier', london: 'gray glacier' }
  /** Codes that return a word, each with an instruction that came with a fork. */
  const CODES = {
    BASEFEE: '0x4860005260206000f3',
    PUSH0: '0x5f60005260206000f3',
    BLOBBASEFEE: '0x4a60005260206000f3',
    CLZ: '0x60011e60005260206000f3',
  } as const

  it.each([
    ['istanbul', 0, []],
    ['berlin', 0, []],
    ['london', LONDON, ['BASEFEE']],
    ['paris', LONDON, ['BASEFEE']],
    ['shanghai', SHANGHAI, ['BASEFEE', 'PUSH0']],
    ['cancun', CANCUN, ['BASEFEE', 'PUSH0', 'BLOBBASEFEE']],
    ['prague', FIELDS.length, ['BASEFEE', 'PUSH0', 'BLOBBASEFEE']],
    ['osaka', FIELDS.length, ['BASEFEE', 'PUSH0', 'BLOBBASEFEE', 'CLZ']],
  ] as const)('%s: its header fields, its instructions, in calls, transactions and traces', async (name, fields, known) => {
    const node = await dev('--hardfork', name)
    expect((await node.call<{ hardFork: string }>('anvil_nodeInfo')).hardFork.toLowerCase()).toBe(LAST_NAMES[name] ?? name)
    const data = CODES.PUSH0
    const isKnown = (code: string): boolean => (known as readonly string[]).includes(code)
    for (const [instruction, code] of Object.entries(CODES)) {
      await node.call('anvil_setCode', NOBODY, code)
      const call = { to: NOBODY, gas: '0x186a0' }
      if (isKnown(instruction)) expect(await node.call('eth_call', call, 'latest'), instruction).toMatch(/^0x[0-9a-f]{64}$/)
      else expect((await node.refused('eth_call', call, 'latest')).message, instruction).toMatch(/^invalid opcode: /)
    }
    // The code of the last one stays; PUSH0 is run as the code of a creation too, and its trace
    // confirms it.
    const hash = await node.send(ALICE, undefined, { data, gas: '0x186a0' })
    const receipt = await node.call<{ status: string; gasUsed: string }>('eth_getTransactionReceipt', hash)
    expect(receipt.status).toBe(isKnown('PUSH0') ? '0x1' : '0x0')
    const trace = await node.trace<{ error?: string }>(hash, 'callTracer')
    expect(trace.error).toEqual(isKnown('PUSH0') ? undefined : expect.stringMatching(/^invalid opcode: /))
    for (const tag of ['0x0', 'latest']) {
      const block = await node.call<Record<string, unknown>>('eth_getBlockByNumber', tag, false)
      expect(
        FIELDS.filter((field) => block[field] !== undefined),
        tag,
      ).toEqual(FIELDS.slice(0, fields))
    }
  })

  it('only takes transactions with one price before London', async () => {
    const node = await dev('--hardfork', 'berlin')
    const hash = await node.send(ALICE, BOB, { value: '0x1' })
    expect(await node.call('eth_getTransactionByHash', hash)).toMatchObject({ type: '0x0' })
    expect(await node.refused('eth_sendTransaction', { from: ALICE, to: BOB, maxFeePerGas: '0x77359400' })).toEqual({
      code: -32000,
      message: 'maxFeePerGas and maxPriorityFeePerGas are not valid before London is active',
    })
    expect(await node.call('anvil_setMinGasPrice', hex(3 * GWEI))).toBeNull()
    expect((await node.refused('eth_sendTransaction', { from: ALICE, to: BOB, gasPrice: hex(GWEI) })).code).toBe(-32000)
  })
})

describe('--block-time', () => {
  it('makes blocks by the clock only', async () => {
    const node = await dev('--block-time', '1')
    expect(await node.call('anvil_getAutomine')).toBe(false)
    expect(await node.call('anvil_getIntervalMining')).toBe(1)
    const hash = await node.send(ALICE, BOB, { value: '0x1' })
    expect(await node.call('eth_getTransactionReceipt', hash)).toBeNull()
    const receipt = await until(
      async () => (await node.call<{ blockNumber: string } | null>('eth_getTransactionReceipt', hash)) ?? undefined,
    )
    expect(Number(receipt.blockNumber)).toBeGreaterThanOrEqual(1)
    const height = await until(async () => ((await node.height()) >= 3 ? await node.height() : undefined))
    const times = await Promise.all(Array.from({ length: height }, (_, i) => node.time(hex(i + 1))))
    expect(times.slice(1).every((time, i) => time > (times[i] as number))).toBe(true)
  })

  it('with --mixed-mining also makes one per transaction', async () => {
    const node = await dev('--block-time', '1', '--mixed-mining')
    expect(await node.call('anvil_getAutomine')).toBe(true)
    expect(await node.call('anvil_getIntervalMining')).toBe(1)
    const hash = await node.send(ALICE, BOB, { value: '0x1' })
    const { blockNumber } = await node.call<{ blockNumber: string }>('eth_getTransactionReceipt', hash)
    expect((await node.block(blockNumber)).transactions).toEqual([hash])
    const empty = await until(async () => ((await node.height()) > Number(blockNumber) ? await node.block() : undefined))
    expect(empty.transactions).toEqual([])
  })
})

describe('what a chain begins with', () => {
  it('--gas-limit and --base-fee hold for the blocks to come too', async () => {
    const node = await dev('--gas-limit', '5000000', '--base-fee', '16000000000')
    expect(await node.refused('eth_sendTransaction', { from: ALICE, to: BOB, gas: '0x4c4b41' })).toMatchObject({ code: -32000 })
    await node.call('evm_mine')
    const block = await node.block()
    expect(Number(block.gasLimit)).toBe(5_000_000)
    // An empty block takes an eighth off (EIP-1559).
    expect(Number(block.baseFeePerGas)).toBe(14_000_000_000)
    const poor = { from: ALICE, to: BOB, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x0', gas: '0x5208' }
    expect((await node.refused('eth_call', poor, 'latest')).message).toContain('max fee per gas less than block base fee')
  })

  it('--timestamp is where the clock goes on from', async () => {
    const node = await dev('--timestamp', '1700000000')
    expect(await node.time('0x0')).toBe(1_700_000_000)
    await node.call('evm_mine')
    const time = await node.time()
    expect(time).toBeGreaterThan(1_700_000_000)
    expect(time).toBeLessThan(1_700_000_600)
  })

  it('--chain-id is that of signatures, and of CHAINID', async () => {
    const node = await dev('--chain-id', '31338')
    expect([await node.call('eth_chainId'), await node.call('net_version')]).toEqual(['0x7a6a', '31338'])
    const hash = await node.send(ALICE, BOB)
    expect(await node.call('eth_getTransactionByHash', hash)).toMatchObject({ chainId: '0x7a6a' })
    await node.call('anvil_setCode', NOBODY, '0x4660005260206000f3')
    expect(BigInt(await node.call<string>('eth_call', { to: NOBODY }, 'latest'))).toBe(31_338n)
  })

  it('--accounts and --balance fund so many, and nobody else', async () => {
    const node = await dev('--accounts', '2', '--balance', '0')
    expect(await node.call('eth_accounts')).toEqual([ALICE, BOB])
    expect(await node.balance(ALICE)).toBe(0n)
    const rich = await dev('--accounts', '12', '--balance', '1')
    const accounts = await rich.call<string[]>('eth_accounts')
    expect(accounts).toHaveLength(12)
    for (const account of accounts) expect(await rich.balance(account)).toBe(10n ** 18n)
  })

  it('--auto-impersonate is anvil_autoImpersonateAccount', async () => {
    const transaction = { from: NOBODY, to: NOBODY, gas: '0x5208', maxFeePerGas: hex(2 * GWEI) }
    const node = await dev()
    await node.call('anvil_setBalance', NOBODY, '0xde0b6b3a7640000')
    expect((await node.refused('eth_sendTransaction', transaction)).message).toBe('unknown account')
    const open = await dev('--auto-impersonate')
    await open.call('anvil_setBalance', NOBODY, '0xde0b6b3a7640000')
    const hash = await open.call('eth_sendTransaction', transaction)
    expect(await open.call('eth_getTransactionReceipt', hash)).toMatchObject({ from: NOBODY, status: '0x1' })
    await open.call('anvil_autoImpersonateAccount', false)
    expect((await open.refused('eth_sendTransaction', transaction)).message).toBe('unknown account')
  })
})

describe('files of the state', () => {
  it('--dump-state writes what --load-state takes', async () => {
    const dir = tempHome()
    const file = path.join(dir, 'state.json')
    const one = await startNode(['dev', '--dump-state', file])
    const calls = new Calls(one.url)
    await calls.send(ALICE, NOBODY, { value: '0x2a' })
    await calls.call('anvil_setStorageAt', BOB, '0x7', `0x${'0'.repeat(62)}63`)
    await calls.call('anvil_setCode', CAROL, '0x6001')
    await calls.call('evm_mine')
    expect(await one.stop()).toBe(0)
    const state = JSON.parse(fs.readFileSync(file, 'utf8')) as { best_block_number: number; accounts: Record<string, { nonce: number }> }
    expect([state.best_block_number, state.accounts[ALICE]?.nonce]).toEqual([2, 1])
    expect(fs.readdirSync(dir)).toEqual(['state.json'])

    const two = await dev('--load-state', file)
    const seen = async (node: Calls): Promise<unknown[]> => [
      await node.balance(NOBODY),
      await node.slot(BOB, 'latest', '0x7'),
      await node.call('eth_getCode', CAROL, 'latest'),
      await node.call('eth_getTransactionCount', ALICE, 'latest'),
      await node.height(),
    ]
    const expected = [42n, 99n, '0x6001', '0x1', 2]
    expect(await seen(two)).toEqual(expected)
    const three = await dev()
    await three.call('anvil_loadState', `0x${zlib.gzipSync(fs.readFileSync(file)).toString('hex')}`)
    expect(await seen(three)).toEqual(expected)

    // `--load-state` writes nothing back; `--state` does.
    const before = fs.readFileSync(file)
    await two.call('anvil_setBalance', NOBODY, '0x1')
    await two.node.stop()
    expect(fs.readFileSync(file)).toEqual(before)
    const four = await startNode(['dev', '--state', file])
    await new Calls(four.url).call('anvil_setBalance', NOBODY, '0x2b')
    expect(await four.stop()).toBe(0)
    const five = await dev('--state', file)
    expect(await five.balance(NOBODY)).toBe(43n)
    fs.rmSync(dir, { recursive: true, force: true })
  })
})
