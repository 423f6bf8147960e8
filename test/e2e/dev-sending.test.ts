// Transactions sent to a development node: nonces of concurrent sends, senders, fees, limits, and
// errors for transactions that fail.
import fs from 'node:fs'
import { recoverTransactionAddress, type TransactionSerialized } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../free-port.mjs'
import { ALICE, Calls } from './dev-calls.ts'
import { startDev } from './dev-node.ts'
import { endOf, type RunningNode, rpc, spawnHearth, tempHome } from './harness.ts'

const full = process.env.HEARTH_TEST === 'full'
/** Rounds of sends at the same time. */
const ROUNDS = full ? 1_000 : 10
/** Sends of a round. */
const AT_ONCE = 30

const TO = '0x0000000000000000000000000000000000000099'
const NOBODY = '0x00000000000000000000000000000000000000a1'
const nodes: RunningNode[] = []

async function start(...args: string[]): Promise<Calls> {
  const node = await startDev(args)
  nodes.push(node)
  return new Calls(node.url)
}

afterAll(async () => {
  for (const node of nodes) await node.stop()
})

interface Sent {
  readonly nonce: string
  readonly from: string
}

/**
 * Init code that reverts with these bytes: PUSH1 n PUSH1 10 PUSH0 CODECOPY PUSH1 n PUSH0 REVERT.
 */
const reverting = (hex: string): string => {
  const size = (hex.length / 2).toString(16).padStart(2, '0')
  return `0x60${size}600a5f3960${size}5ffd${hex}`
}
/** Init code that makes a contract of so many zero bytes: PUSH3 n PUSH0 RETURN. */
const making = (bytes: number): string => `0x62${bytes.toString(16).padStart(6, '0')}5ff3`

describe('nonces of transactions that are sent at the same time', () => {
  it('none is refused, and none is left out', async () => {
    const dev = await start()
    for (let round = 0; round < ROUNDS; round++) {
      const sends = Array.from({ length: AT_ONCE }, () => rpc(dev.url, 'eth_sendTransaction', [{ from: ALICE, to: TO, gas: '0x5208' }]))
      const answers = await Promise.all(sends)
      expect(answers.flatMap(({ error }) => (error === undefined ? [] : [error.message]))).toEqual([])
      expect(await dev.call('eth_getTransactionCount', ALICE, 'latest')).toBe(`0x${((round + 1) * AT_ONCE).toString(16)}`)
    }
    expect(await dev.height()).toBe(ROUNDS * AT_ONCE)
  }, 600_000)

  it('signed ones in one batch become blocks in their order', async () => {
    const dev = await start()
    const account = mnemonicToAccount('test test test test test test test test test test test junk')
    const signed = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, nonce) =>
        account.signTransaction({ chainId: 31_337, to: TO, gas: 21_000n, gasPrice: 10n ** 10n, value: 1n, nonce }),
      ),
    )
    const send = (raw: string): object => ({ method: 'eth_sendRawTransaction', params: [raw] })
    // Between the sends: one that is refused, one that cannot be read, and reads that see all
    // before them.
    const calls = [
      ...signed.slice(0, 10).map(send),
      send(signed[0] as string),
      send('0x02'),
      ...signed.slice(10, 20).map(send),
      { method: 'eth_blockNumber', params: [] },
      { method: 'evm_mine', params: [] },
      ...signed.slice(20).map(send),
      { method: 'eth_blockNumber', params: [] },
    ].map((call, id) => ({ jsonrpc: '2.0', id, ...call }))
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(dev.url, { method: 'POST', headers, body: JSON.stringify(calls) })
    const answers = (await response.json()) as { id: number; result?: string; error?: { code: number; message: string } }[]
    expect(answers.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
    expect(answers[10]?.error?.message).toBe('nonce too low: next nonce 10, tx nonce 0')
    expect(answers[11]?.error).toEqual({ code: -32000, message: 'typed transaction too short' })
    expect(answers[22]?.result).toBe('0x14')
    expect(answers[23]?.result).toBe('0x0')
    expect(answers.at(-1)?.result).toBe('0x1f')
    const sent = [...answers.slice(0, 10), ...answers.slice(12, 22), ...answers.slice(24, -1)].map(({ result }) => result)
    const mined = await Promise.all(sent.map((hash) => dev.call<Sent & { blockNumber: string }>('eth_getTransactionByHash', hash)))
    expect(mined.map(({ nonce }) => Number(nonce))).toEqual(Array.from({ length: AT_ONCE }, (_, i) => i))
    expect(mined.map(({ blockNumber }) => Number(blockNumber))).toEqual(Array.from({ length: AT_ONCE }, (_, i) => (i < 20 ? i + 1 : i + 2)))
  })

  it('also of several accounts, in batches, mined on demand', async () => {
    const dev = await start('--no-mining')
    const accounts = (await dev.call<string[]>('eth_accounts')).slice(0, 3)
    const body = (n: number): object => ({
      jsonrpc: '2.0',
      id: n,
      method: 'eth_sendTransaction',
      params: [{ from: accounts[n % 3], to: TO, gas: '0x5208' }],
    })
    const post = async (calls: readonly object[]): Promise<{ result?: string; error?: { message: string } }[]> => {
      const headers = { 'content-type': 'application/json' }
      return (await (await fetch(dev.url, { method: 'POST', headers, body: JSON.stringify(calls) })).json()) as []
    }
    const batches = Array.from({ length: 12 }, (_, batch) => post(Array.from({ length: 5 }, (_, i) => body(batch * 5 + i))))
    const answers = (await Promise.all(batches)).flat()
    expect(answers.flatMap(({ error }) => (error === undefined ? [] : [error.message]))).toEqual([])
    const sent = await Promise.all(answers.map(({ result }) => dev.call<Sent>('eth_getTransactionByHash', result)))
    for (const account of accounts) {
      const nonces = sent.filter(({ from }) => from === account.toLowerCase()).map(({ nonce }) => Number(nonce))
      expect(nonces.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i))
      expect(await dev.call('eth_getTransactionCount', account, 'pending')).toBe('0x14')
    }
    await dev.call('evm_mine')
    expect((await dev.block()).transactions).toHaveLength(60)
  })

  it('eth_fillTransaction never fills in a nonce that was used', async () => {
    const dev = await start()
    let highest = -1
    const fill = async (): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        const least = highest
        const { tx } = await dev.call<{ tx: { nonce: string } }>('eth_fillTransaction', { from: ALICE, to: TO, gas: '0x5208' })
        const pending = Number(await dev.call('eth_getTransactionCount', ALICE, 'pending'))
        expect(Number(tx.nonce)).toBeGreaterThan(least)
        expect(pending).toBeGreaterThan(least)
      }
    }
    const send = async (): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        const hash = await dev.send(ALICE, TO, { gas: '0x5208' })
        const { nonce } = await dev.call<Sent>('eth_getTransactionByHash', hash)
        highest = Math.max(highest, Number(nonce))
      }
    }
    await Promise.all([send(), send(), fill(), fill()])
    expect(highest).toBe(79)
  })
})

describe('senders, fees and limits', () => {
  let dev: Calls
  beforeAll(async () => {
    dev = await start()
  })

  it('a fee below the base fee is refused with automine', async () => {
    const cheap = { from: ALICE, to: TO, gas: '0x5208', gasPrice: '0x1' }
    const refused = { code: -32003, message: 'max fee per gas less than block base fee' }
    expect(await dev.refused('eth_sendTransaction', cheap)).toEqual(refused)
    const { raw } = await dev.call<{ raw: string }>('eth_signTransaction', cheap)
    expect(await dev.refused('eth_sendRawTransaction', raw)).toEqual(refused)
    expect(await dev.call('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    await dev.call('evm_setAutomine', false)
    const waiting = await dev.call<string>('eth_sendTransaction', cheap)
    expect(await dev.call('txpool_status')).toEqual({ pending: '0x1', queued: '0x0' })
    await dev.call('anvil_dropTransaction', waiting)
    await dev.call('evm_setAutomine', true)
    const next = await dev.send(ALICE, TO, { gas: '0x5208' })
    expect(await dev.call('eth_getTransactionReceipt', next)).toMatchObject({ status: '0x1' })
  })

  it('a transaction without a sender is sent by the first account', async () => {
    const hash = await dev.call('eth_sendTransaction', { to: TO, gas: '0x5208' })
    expect(await dev.call('eth_getTransactionByHash', hash)).toMatchObject({ from: ALICE })
    const refused = await dev.refused('eth_signTransaction', { to: TO, gas: '0x5208' })
    expect(refused).toEqual({
      code: -32000,
      message: 'unknown account: the transaction has no `from`; eth_accounts lists the accounts of this node',
    })
  })

  it('eth_accounts has no impersonated accounts', async () => {
    await dev.call('anvil_impersonateAccount', NOBODY)
    const accounts = await dev.call<string[]>('eth_accounts')
    expect(accounts).toHaveLength(10)
    expect(accounts).not.toContain(NOBODY)
    await dev.call('anvil_stopImpersonatingAccount', NOBODY)
  })

  it('automine comes back when blocks at an interval end', async () => {
    await dev.call('evm_setIntervalMining', 1000)
    expect(await dev.call('anvil_getAutomine')).toBe(false)
    await dev.call('evm_setIntervalMining', 500)
    const waiting = await dev.send(ALICE, TO, { gas: '0x5208' })
    await dev.call('evm_setIntervalMining', 0)
    expect(await dev.call('anvil_getAutomine')).toBe(true)
    expect(await dev.call('anvil_getIntervalMining')).toBeNull()
    expect(await dev.call('eth_getTransactionReceipt', waiting)).toMatchObject({ status: '0x1' })
    await dev.call('evm_setAutomine', false)
    await dev.call('evm_setIntervalMining', 1000)
    await dev.call('evm_setIntervalMining', 0)
    expect(await dev.call('anvil_getAutomine')).toBe(false)
    await dev.call('evm_setAutomine', true)
  })

  it('an access list needs no funds', async () => {
    // Reads slot 5: PUSH1 5 SLOAD.
    await dev.call('anvil_setCode', TO, '0x60055400')
    const slot = `0x${'5'.padStart(64, '0')}`
    const want = { accessList: [{ address: TO, storageKeys: [slot] }] }
    const asked = { to: TO, gasPrice: '0x3b9aca00', gas: '0x186a0' }
    expect(await dev.call('eth_createAccessList', asked, 'latest')).toMatchObject(want)
    expect(await dev.call('eth_createAccessList', { from: NOBODY, to: TO }, 'latest')).toMatchObject(want)
    await dev.call('anvil_setCode', TO, '0x')
  })

  it('a gas limit above the cap of Osaka is refused with advice', async () => {
    const { message } = await dev.refused('eth_sendTransaction', { from: ALICE, to: TO, gas: '0x1c9c380' })
    expect(message).toBe(
      'transaction gas limit too high (cap: 16777216, tx: 30000000): EIP-7825 caps it from Osaka on, and `hearth dev --hardfork prague` has no cap',
    )
  })

  it('debug_codeByHash gives code by its hash', async () => {
    const code = '0x60065400'
    const hash = await dev.call('web3_sha3', code)
    expect(await dev.call('debug_codeByHash', hash)).toBeNull()
    await dev.call('anvil_setCode', NOBODY, code)
    await dev.call('evm_mine')
    expect(await dev.call('debug_codeByHash', hash)).toBe(code)
    expect(await dev.call('debug_codeByHash', hash, 'latest')).toBe(code)
    expect(await dev.call('debug_codeByHash', await dev.call('web3_sha3', '0x'))).toBe('0x')
  })
})

describe('the limit of code sizes', () => {
  /** Bytes of the largest contract (EIP-170). */
  const LIMIT = 24_576

  it('is that of EIP-170 without a flag', async () => {
    const dev = await start()
    const { message } = await dev.refused('eth_estimateGas', { from: ALICE, data: making(LIMIT + 1) })
    expect(message).toContain('max code size exceeded')
    const hash = await dev.send(ALICE, undefined, { data: making(LIMIT + 1), gas: '0x7a1200' })
    expect(await dev.call('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x0' })
  })

  it('can be impersonated: calls, blocks, traces, a restart', async () => {
    const home = tempHome()
    try {
      const dev = await start('--home', home, '--code-size-limit', '30000')
      const create = { from: ALICE, data: making(30_000) }
      const gas = await dev.call('eth_estimateGas', create)
      expect((await dev.call<string>('eth_call', create)).length).toBe(2 + 2 * 30_000)
      const hash = await dev.send(ALICE, undefined, { ...create, gas })
      const receipt = await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', hash)
      expect(receipt).toMatchObject({ status: '0x1' })
      const over = await dev.refused('eth_estimateGas', { from: ALICE, data: making(30_001) })
      expect(over.message).toContain('max code size exceeded')
      const longest = { from: ALICE, data: `0x00${'00'.repeat(59_999)}` }
      expect(await dev.call('eth_call', longest)).toBe('0x')
      expect((await dev.refused('eth_call', { ...longest, data: `${longest.data}00` })).message).toContain('max initcode size exceeded')
      const trace = await dev.trace<{ output: string; error?: string }>(hash, 'callTracer')
      expect([trace.output.length, trace.error]).toEqual([2 + 2 * 30_000, undefined])
      expect(await nodes.pop()?.stop()).toBe(0)
      const again = await start('--home', home)
      expect((await again.call<string>('eth_getCode', receipt.contractAddress, 'latest')).length).toBe(2 + 2 * 30_000)
      expect((await again.trace<{ output: string }>(hash, 'callTracer')).output).toBe(trace.output)
      expect(await again.call('eth_estimateGas', create)).toBe(gas)
    } finally {
      await nodes.pop()?.stop()
      fs.rmSync(home, { recursive: true, force: true })
    }
  })

  it('can be none', async () => {
    const dev = await start('--disable-code-size-limit', '--hardfork', 'prague')
    const hash = await dev.send(ALICE, undefined, { data: making(100_000), gas: '0x1c9c380' })
    const { contractAddress } = await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', hash)
    expect((await dev.call<string>('eth_getCode', contractAddress, 'latest')).length).toBe(2 + 2 * 100_000)
  })
})

describe('transactions that fail', () => {
  const word = (n: number): string => n.toString(16).padStart(64, '0')
  const VM = 'Error: VM Exception while processing transaction: '
  /** Init code, and what the node of Hardhat 2.28 says when it is sent. */
  const FAILURES: readonly (readonly [data: string, message: string, output: string])[] = [
    [reverting(''), 'Error: Transaction reverted without a reason string', '0x'],
    [
      reverting(`08c379a0${word(32)}${word(4)}6e6f7065${'0'.repeat(56)}`),
      `${VM}reverted with reason string 'nope'`,
      `0x08c379a0${word(32)}${word(4)}6e6f7065${'0'.repeat(56)}`,
    ],
    [
      reverting(`4e487b71${word(0x11)}`),
      `${VM}reverted with panic code 0x11 (Arithmetic operation overflowed outside of an unchecked block)`,
      `0x4e487b71${word(0x11)}`,
    ],
    [reverting('ea07e92f'), `${VM}reverted with an unrecognized custom error (return data: 0xea07e92f)`, '0xea07e92f'],
    ['0xfe', `${VM}invalid opcode`, '0x'],
    ['0x01', 'Error: Transaction reverted without a reason string', '0x'],
  ]

  it('--throw-on-revert: are errors as in Hardhat’s node', async () => {
    const dev = await start('--throw-on-revert')
    for (const [data, message, output] of FAILURES) {
      const error = await dev.refused('eth_sendTransaction', { from: ALICE, data, gas: '0x186a0' })
      const txHash = (await dev.block()).transactions[0]
      expect(error).toEqual({ code: -32603, message, data: { message, txHash, data: output } })
      expect(await dev.call('eth_getTransactionReceipt', txHash)).toMatchObject({ status: '0x0' })
    }
    const { raw } = await dev.call<{ raw: string }>('eth_signTransaction', { from: ALICE, data: '0xfe', gas: '0x186a0' })
    expect(await dev.refused('eth_sendRawTransaction', raw)).toMatchObject({ code: -32603, message: `${VM}invalid opcode` })
    // A loop without end: JUMPDEST PUSH0 JUMP.
    const endless = await dev.refused('eth_sendTransaction', { from: ALICE, data: '0x5b5f56', gas: '0x186a0' })
    const message = 'Transaction ran out of gas'
    expect(endless).toEqual({ code: -32000, message, data: { message, txHash: (await dev.block()).transactions[0], data: '0x' } })
    await dev.call('evm_setAutomine', false)
    expect(await dev.call('eth_sendTransaction', { from: ALICE, data: '0xfe', gas: '0x186a0' })).toMatch(/^0x[0-9a-f]{64}$/)
  })

  it('with auto they are errors after hardhat_metadata only', async () => {
    const failing = { from: ALICE, data: '0xfe', gas: '0x186a0' }
    const dev = await start('--dev.throw_on_revert=auto')
    await dev.call('anvil_metadata')
    expect(await dev.call('eth_sendTransaction', failing)).toMatch(/^0x[0-9a-f]{64}$/)
    await dev.call('hardhat_metadata')
    expect(await dev.refused('eth_sendTransaction', failing)).toMatchObject({ code: -32603, message: `${VM}invalid opcode` })
    const off = await start()
    await off.call('hardhat_metadata')
    expect(await off.call('eth_sendTransaction', failing)).toMatch(/^0x[0-9a-f]{64}$/)
  })
})

describe('a transaction that the node signs', () => {
  it('has the signature of its sender', async () => {
    const dev = await start()
    const hash = await dev.send(ALICE, TO, { value: '0x1' })
    const serializedTransaction = await dev.call<TransactionSerialized>('eth_getRawTransactionByHash', hash)
    expect((await recoverTransactionAddress({ serializedTransaction })).toLowerCase()).toBe(ALICE)
    expect(await dev.call('eth_getTransactionByHash', hash)).toMatchObject({ from: ALICE })
  })
})

describe('the pending block', () => {
  it('has the content of its later block, also after calls', async () => {
    const dev = await start('--no-mining')
    for (let round = 0; round < 3; round++) {
      await dev.call('evm_setNextBlockTimestamp', (await dev.time()) + 7)
      // Calls on the state of the pending block come before any request for the block itself.
      const before = await dev.balance(TO, 'pending')
      await dev.send(ALICE, TO, { value: '0x10' })
      await dev.send(ALICE, undefined, { data: making(100 + round), gas: '0x186a0' })
      expect(await dev.balance(TO, 'pending')).toBe(before + 16n)
      expect(await dev.call('eth_estimateGas', { from: ALICE, to: TO }, 'pending')).toBe('0x5208')
      expect(await dev.call('eth_getBlockTransactionCountByNumber', 'pending')).toBe('0x2')
      const { hash: _, nonce: __, ...pending } = await dev.call<Record<string, unknown>>('eth_getBlockByNumber', 'pending', true)
      await dev.call('evm_mine')
      const mined = await dev.call<Record<string, unknown>>('eth_getBlockByNumber', 'latest', true)
      const fields = ['number', 'timestamp', 'stateRoot', 'receiptsRoot', 'transactionsRoot', 'gasUsed', 'logsBloom', 'mixHash', 'size']
      for (const field of fields) expect([field, pending[field]]).toEqual([field, mined[field]])
      const hashes = (block: Record<string, unknown>) =>
        (block.transactions as { hash: string; from: string }[]).map((tx) => [tx.hash, tx.from])
      expect(hashes(pending)).toEqual(hashes(mined))
      expect(hashes(pending)).toHaveLength(2)
    }
  })
})

/** Longest time from the line on a connection to the error that it is refused, in milliseconds. */
const REFUSED_MS_MAX = 2000

/** A busy machine may be late sometimes, not every time. */
const ATTEMPTS = 5

describe('a fork of a node that is not there', () => {
  /** What a fork of a URL prints until it ends, and the time between both lines. */
  async function forked(url: string): Promise<{ code: number | string | null; out: string; err: string; ms: number }> {
    const child = spawnHearth(['dev', '--port', '0', '--evm.ws_port=0', '--metrics.port=0', '--fork-url', url])
    const said = { out: '', err: '' }
    const times: number[] = []
    for (const name of ['out', 'err'] as const) {
      child[`std${name}`]?.on('data', (data: Buffer) => {
        said[name] += data.toString()
        times.push(performance.now())
      })
    }
    const code = await endOf(child)
    return { code, ...said, ms: (times.at(-1) ?? Number.NaN) - (times[0] ?? Number.NaN) }
  }

  it('fails within 2 s, and says before what it waits for', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const took: number[] = []
    while (took.length < ATTEMPTS && Math.min(...took) > REFUSED_MS_MAX) {
      const { code, out, err, ms } = await forked(url)
      expect(code).toBe(1)
      expect(out).toContain(`connecting to ${url} ...\n`)
      expect(err).toMatch(/cannot fork http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/)
      took.push(ms)
    }
    // Other failures are tried again for the 30 s of dev.fork_timeout.
    expect(Math.min(...took)).toBeLessThanOrEqual(REFUSED_MS_MAX)
  })
})
