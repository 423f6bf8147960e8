// The console of a development chain: transactions, reasons, the frame that failed, console.log;
// and sends that are answered with an error.
import { encodeAbiParameters, encodeErrorResult, type Hex, keccak256, parseAbi, toBytes } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assemble } from '../../ts/dev/demo/assembler.ts'
import { type RunningNode, rpc, startNode } from './harness.ts'
import { settled, until } from './waiting.ts'

let node: RunningNode
let accounts: Hex[]
beforeAll(async () => {
  node = await startNode(['dev'])
  accounts = (await result('eth_accounts')) as Hex[]
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
})

const result = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
  const answer = await rpc(node.url, method, [...params])
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`)
  return answer.result
}

const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`

/** Deploys code. */
async function deploy(runtime: Uint8Array): Promise<Hex> {
  const data = hexOf(assemble('!runtime DUP1 &runtime 0 CODECOPY 0 RETURN', { parts: { runtime } }))
  const hash = await result('eth_sendTransaction', [{ from: accounts[0], data, gas: '0x200000' }])
  return ((await result('eth_getTransactionReceipt', [hash])) as { contractAddress: Hex }).contractAddress
}

/** Code that gives some bytes back as an error. */
const reverts = (data: Hex): Uint8Array =>
  assemble('!data DUP1 &data 0 CODECOPY 0 REVERT', { parts: { data: Buffer.from(data.slice(2), 'hex') } })

/** Code that calls a contract and fails as it fails. */
const passesOn = (to: Hex): Uint8Array =>
  assemble(`0 0 0 0 0 ${to} GAS CALL ISZERO @failed JUMPI STOP failed: RETURNDATASIZE 0 0 RETURNDATACOPY RETURNDATASIZE 0 REVERT`)

/** Code that logs a text and a number with console.log. */
function logs(text: string, number: bigint): Uint8Array {
  const selector = keccak256(toBytes('log(string,uint256)')).slice(0, 10)
  const call = `${selector}${encodeAbiParameters([{ type: 'string' }, { type: 'uint256' }], [text, number]).slice(2)}`
  const input = Buffer.from(call.slice(2), 'hex')
  return assemble('!input &input 0 CODECOPY 0 0 !input 0 0x636f6e736f6c652e6c6f67 GAS STATICCALL POP STOP', { parts: { input } })
}

/** Sends a transaction, and waits until the console has shown it; the lines from it on. */
async function shown(transaction: object): Promise<{ hash: Hex; text: string }> {
  const hash = (await result('eth_sendTransaction', [{ from: accounts[0], gas: '0x30000', ...transaction }])) as Hex
  return { hash, text: await printed(hash) }
}

async function printed(mark: string): Promise<string> {
  await until(mark, () => node.log().includes(mark))
  // What belongs to one transaction is printed in one go, or nearly.
  const text = await settled('what is printed', () => node.log(), 200)
  return text.slice(text.lastIndexOf('\n', text.indexOf(mark)) + 1)
}

const error = (text: string): Hex => encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: [text] })

describe('the console', () => {
  it('prints a transaction with its block, hash and gas', async () => {
    const { hash, text } = await shown({ to: accounts[1], value: '0x1' })
    expect(text).toMatch(new RegExp(`^block \\d+ {2}${hash} {2}gas 21,000\n {2}${node.url}/tx/${hash}\n`))
  })

  it('prints no link where the node serves no explorer', async () => {
    const plain = await startNode(['dev', '--evm.explorer=false'])
    const answer = await rpc(plain.url, 'eth_sendTransaction', [{ from: accounts[0], to: accounts[1], value: '0x1' }])
    await until('the transaction', () => plain.log().includes(answer.result as string))
    expect(await settled('what is printed', () => plain.log(), 200)).not.toMatch(/\/tx\/|in a browser/)
    expect(node.log()).toContain(`Open ${node.url} in a browser to look at blocks and traces.\n`)
    expect(await plain.stop()).toBe(0)
  })

  it('prints the contract that was made', async () => {
    const address = await deploy(reverts(error('no')))
    expect(await printed(address)).toMatch(new RegExp(`made contract ${address}\n`))
  })

  it('prints the reason of a failure and its innermost frame', async () => {
    const inner = await deploy(reverts(error('the inner one refuses')))
    const outer = await deploy(passesOn(inner))
    const { hash, text } = await shown({ to: outer, data: '0xa9059cbb' })
    expect(text).toContain(`${hash}  gas `)
    expect(text).toContain('failed: execution reverted: "the inner one refuses"\n')
    expect(text).toContain(`  in CALL to ${inner.toLowerCase()}, 1 call deep\n`)
  })

  it('prints panics, contract errors by selector, and EVM errors', async () => {
    const panic = await deploy(reverts(encodeErrorResult({ abi: parseAbi(['error Panic(uint256)']), args: [0x12n] })))
    expect((await shown({ to: panic })).text).toContain('failed: execution reverted: panic 0x12: division or modulo by zero\n')
    const custom = await deploy(reverts('0xdeadbeef'))
    expect((await shown({ to: custom, data: '0x12345678' })).text).toMatch(
      /failed: execution reverted: custom error 0xdeadbeef\n {2}in CALL to 0x[0-9a-f]{40}, function 0x12345678, the transaction itself\n/,
    )
    const endless = await deploy(assemble('again: @again JUMP'))
    expect((await shown({ to: endless, gas: '0x8000' })).text).toMatch(/gas 32,768 {2}failed: out of gas\n/)
  })

  it('prints console.log of transactions and of calls', async () => {
    const contract = await deploy(logs('found %d of them', 12n))
    expect((await shown({ to: contract })).text).toMatch(/gas [\d,]+\n {2}console\.log: found 12 of them\n/)
    const second = await deploy(logs('only called', 77n))
    await result('eth_call', [{ to: second }, 'latest'])
    expect(await printed('console.log: only called 77')).toBeDefined()
    expect(node.log()).toMatch(/eth_call\n {2}console\.log: only called 77\n/)
    const third = await deploy(logs('estimated', 78n))
    await result('eth_estimateGas', [{ from: accounts[0], to: third }])
    expect(await printed('console.log: estimated 78')).toBeDefined()
  })

  it('is silent between setLoggingEnabled false and true', async () => {
    await result('anvil_setLoggingEnabled', [false])
    const quiet = await result('eth_sendTransaction', [{ from: accounts[0], to: accounts[1], value: '0x1' }])
    await new Promise((resolve) => setTimeout(resolve, 300))
    await result('hardhat_setLoggingEnabled', [true])
    const { hash } = await shown({ to: accounts[1], value: '0x1' })
    expect(node.log()).not.toContain(quiet as string)
    expect(node.log()).toContain(hash)
  })

  it('judges a transaction by when it was mined', async () => {
    const send = async (): Promise<string> =>
      (await result('eth_sendTransaction', [{ from: accounts[0], to: accounts[1], value: '0x1' }])) as string
    const [loud, silent]: [string[], string[]] = [[], []]
    for (let round = 0; round < 10; round++) {
      loud.push(await send(), await send())
      await result('hardhat_setLoggingEnabled', [false])
      silent.push(await send(), await send())
      await result('hardhat_setLoggingEnabled', [true])
    }
    const { text } = await shown({ to: accounts[1], value: '0x1' })
    expect(text).not.toBe('')
    expect(loud.filter((hash) => !node.log().includes(hash))).toEqual([])
    expect(silent.filter((hash) => node.log().includes(hash))).toEqual([])
  })
})

describe('a send', () => {
  it('that reverts is mined, and its hash returned then', async () => {
    const contract = await deploy(reverts(error('no')))
    const hash = await result('eth_sendTransaction', [{ from: accounts[0], to: contract, gas: '0x30000' }])
    expect(await result('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x0', transactionHash: hash })
  })

  it('without a gas limit fails with the data of the revert', async () => {
    const contract = await deploy(reverts(error('no')))
    const answer = await rpc(node.url, 'eth_sendTransaction', [{ from: accounts[0], to: contract }])
    expect(answer.error).toMatchObject({ code: 3, message: 'execution reverted: no', data: error('no') })
    const estimate = await rpc(node.url, 'eth_estimateGas', [{ from: accounts[0], to: contract }])
    expect(estimate.error).toMatchObject({ code: 3, data: error('no') })
  })
})
