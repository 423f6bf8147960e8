// forge and cast as a user runs them, against `hearth dev`.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { clients } from './clients/install.ts'
import { type Ended, type Project, project } from './clients/project.ts'
import { type DevNode, startNamed } from './dev-node.ts'
import { rpc } from './harness.ts'
import { nodesBeside, testsOn } from './peer.ts'

/** The first account of the mnemonic that everyone knows, and its key. */
const OWNER = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const PAID = '0x00000000000000000000000000000000000f0001'
const TRANSFER = 'Transfer(address indexed from, address indexed to, uint256 value)'

/** What forge writes of a script that was broadcast. */
interface Broadcast {
  readonly transactions: readonly { readonly contractName: string | null; readonly contractAddress: string | null }[]
  readonly receipts: readonly { readonly status: string; readonly to: string | null; readonly transactionHash: string }[]
}

const installed = await clients('node20')

/** The program itself, out of the package of this platform. */
const program = (made: Project, tool: 'forge' | 'cast'): string => {
  const folder = `${tool}-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  return path.join(made.dir, 'node_modules/@foundry-rs', folder, process.platform === 'win32' ? `bin/${tool}.exe` : `bin/${tool}`)
}

describe.each(nodesBeside('anvil', 'forge and cast'))('forge and cast on %s', (name) => {
  const { before, test } = testsOn(name)
  if ('missing' in installed) {
    it.skip(`skipped: forge and cast on ${name}: ${installed.missing}`, () => undefined)
    return
  }
  let node: DevNode
  let made: Project
  let token: string
  let payer: string
  let paid: string

  const forge = (...args: string[]): Promise<Ended> => made.run(program(made, 'forge'), args, { TOKEN: token, PAYER: payer, BEFORE: '0' })
  const cast = (...args: string[]): Promise<Ended> => made.run(program(made, 'cast'), [...args, '--rpc-url', node.url])
  /** What a command prints that must do its work. */
  const printed = async (ended: Promise<Ended>): Promise<string> => {
    const { code, out, err } = await ended
    if (code !== 0) throw new Error(`ended with ${code}:\n${out}\n${err}`)
    return out.trim()
  }

  const height = async (): Promise<string> => String(Number((await rpc(node.url, 'eth_blockNumber')).result))

  before(async () => {
    node = await startNamed(name)
    made = project('foundry', installed)
  })
  afterAll(async () => {
    await node?.stop()
    made?.remove()
  })

  test('forge script --broadcast: deploys, with CREATE2, and sends', async () => {
    await printed(forge('script', 'script/Deploy.s.sol:Deploy', '--rpc-url', node.url, '--broadcast', '--private-key', KEY))
    const file = path.join(made.dir, 'broadcast/Deploy.s.sol/31337/run-latest.json')
    const { transactions, receipts } = JSON.parse(fs.readFileSync(file, 'utf8')) as Broadcast
    expect(receipts.map((receipt) => receipt.status)).toEqual(['0x1', '0x1', '0x1', '0x1'])
    const deployed = (contract: string): string => transactions.find((tx) => tx.contractName === contract)?.contractAddress as string
    ;[token, payer] = [deployed('Token'), deployed('Payer')]
    // forge may write another transaction's hash next to each of those that it sent at the same
    // time; receipts have their own.
    paid = receipts.find((receipt) => receipt.to === payer)?.transactionHash as string
    expect((await rpc(node.url, 'eth_getCode', [payer, 'latest'])).result).toMatch(/^0x60/)
    expect((await rpc(node.url, 'eth_getTransactionReceipt', [paid])).result).toMatchObject({ status: '0x1', logs: { length: 3 } })
  })

  test('cast call, balance, nonce, code, storage, block, chain-id', async () => {
    expect(await printed(cast('call', token, 'balanceOf(address)(uint256)', PAID))).toBe('7')
    expect(await printed(cast('call', payer, 'token()(address)'))).toMatch(new RegExp(token, 'i'))
    expect(await printed(cast('nonce', OWNER))).toBe('4')
    expect(await printed(cast('storage', token, '1'))).toBe(`0x${(1_000_000).toString(16).padStart(64, '0')}`)
    expect(await printed(cast('block', 'latest', '--field', 'number'))).toBe(await height())
    expect(await printed(cast('chain-id'))).toBe('31337')
    expect(await printed(cast('balance', PAID))).toBe('0')
    const { err, code } = await cast('call', token, 'transfer(address,uint256)', PAID, '5000000', '--from', PAID)
    expect(code).not.toBe(0)
    // Insufficient(7, 5000000)
    expect(err).toMatch(/Insufficient|0x[0-9a-f]{8}0{63}70{58}4c4b40/)
  })

  test('cast send: with a key, from a node account, and a revert', async () => {
    const send = async (...args: string[]): Promise<{ status: string; from: string; logs: unknown[] }> =>
      JSON.parse(await printed(cast('send', '--json', ...args)))
    const transfer = [token, 'transfer(address,uint256)', PAID]
    expect(await send(...transfer, '5', '--private-key', KEY)).toMatchObject({ status: '0x1', from: OWNER, logs: { length: 1 } })
    expect(await send(...transfer, '6', '--unlocked', '--from', OWNER)).toMatchObject({ status: '0x1', from: OWNER })
    expect(await printed(cast('call', token, 'balanceOf(address)(uint256)', PAID))).toBe('18')
    const { code, err } = await cast('send', token, 'transfer(address,uint256)', `0x${'0'.repeat(40)}`, '1', '--private-key', KEY)
    expect(code).not.toBe(0)
    expect(err).toContain('to nobody')
    const value = await send(PAID, '--value', '1ether', '--private-key', KEY)
    expect(value.status).toBe('0x1')
    expect(await printed(cast('balance', PAID, '--ether'))).toBe('1.000000000000000000')
  })

  test('cast run: traces a transaction from the state before it', async () => {
    const text = await printed(cast('run', paid))
    const { gasUsed } = (await rpc(node.url, 'eth_getTransactionReceipt', [paid])).result as { gasUsed: string }
    expect(text).toContain('Transaction successfully executed')
    expect(text).toMatch(new RegExp(`Gas used: ${Number(gasUsed)}`))
    expect(text.match(/a9059cbb|transfer\(/g)?.length).toBe(3)
  })

  test('cast logs, tx, receipt, estimate, rpc', async () => {
    const logs = JSON.parse(await printed(cast('logs', '--json', '--from-block', '0', '--address', token, TRANSFER))) as { data: string }[]
    expect(logs.map((log) => Number(log.data))).toEqual([1_000_000, 1000, 7, 7, 7, 5, 6])
    expect(await printed(cast('tx', paid, 'to'))).toMatch(new RegExp(payer, 'i'))
    expect(await printed(cast('receipt', paid, 'status'))).toMatch(/^1|true/)
    expect(await printed(cast('estimate', PAID, '--value', '1', '--from', OWNER))).toBe('21000')
    expect(await printed(cast('rpc', 'eth_blockNumber'))).toBe(`"0x${Number(await height()).toString(16)}"`)
  })

  test('forge test --fork-url: reads current and past state', async () => {
    const text = await printed(forge('test', '--fork-url', node.url, '--json'))
    const suites = JSON.parse(text) as Record<string, { test_results: Record<string, { status: string; reason: string | null }> }>
    const results = Object.values(suites).flatMap((suite) => Object.entries(suite.test_results))
    expect(results.map(([test, { status, reason }]) => [test, status, reason])).toEqual([
      ['test_moves_on_in_its_own_copy()', 'Success', null],
      ['test_reads_the_past()', 'Success', null],
      ['test_reads_what_was_deployed()', 'Success', null],
      ['test_sees_errors()', 'Success', null],
    ])
    // What a test does stays in the test.
    expect(await printed(cast('call', token, 'balanceOf(address)(uint256)', payer))).toBe('979')
  })
})
