// Namespaces by mode: methods of the development chain never exist outside of it, `testing` only if
// the setting names it.
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEV_NAMESPACES, METHODS, namespaceOf } from '../../ts/rpc/table.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from './harness.ts'

const home = tempHome()
const FIRST = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const ALL = 'eth,net,web3,debug,txpool,rpc,chain,testing,anvil,hardhat,evm,personal'

/** What tools of development chains call, and no node of a real chain may have. */
const DEV_METHODS = [
  'anvil_impersonateAccount anvil_stopImpersonatingAccount anvil_autoImpersonateAccount anvil_setBalance anvil_setCode anvil_setNonce',
  'anvil_setStorageAt anvil_mine anvil_reset anvil_dumpState anvil_loadState anvil_reorg anvil_rollback anvil_nodeInfo',
  'hardhat_impersonateAccount hardhat_setBalance hardhat_mine hardhat_reset hardhat_setCode hardhat_setNonce hardhat_setStorageAt',
  'evm_mine evm_snapshot evm_revert evm_increaseTime evm_setNextBlockTimestamp evm_setAutomine evm_setIntervalMining',
  'personal_sign personal_sendTransaction personal_unlockAccount personal_listAccounts personal_importRawKey personal_newAccount',
].flatMap((names) => names.split(' '))

afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

const withNode =
  (args: readonly string[], run: (node: RunningNode) => Promise<void>): (() => Promise<void>) =>
  async () => {
    const node = await startNode(args)
    try {
      await run(node)
    } finally {
      expect(await node.stop()).toBe(0)
    }
  }

describe('hearth start', () => {
  beforeAll(async () => {
    const node = await startNode(['dev', '--home', home])
    expect((await rpc(node.url, 'eth_sendTransaction', [{ from: FIRST, to: FIRST }])).result).toMatch(/^0x/)
    expect(await node.stop()).toBe(0)
  })

  it(
    'has no method of development chains with any namespaces',
    withNode(['start', '--home', home, `--evm.namespaces=${ALL}`], async ({ url }) => {
      const own = METHODS.filter((m) => DEV_NAMESPACES.includes(namespaceOf(m.name))).map((m) => m.name)
      for (const method of [...DEV_METHODS, ...own]) {
        const message = `the method ${method} does not exist/is not available`
        for (const params of [[], [FIRST], ['0x12', FIRST]])
          expect((await rpc(url, method, params)).error).toEqual({ code: -32601, message })
      }
      expect(Object.keys((await rpc(url, 'rpc_modules')).result as object).sort()).toEqual(
        ['chain', 'debug', 'eth', 'net', 'rpc', 'testing', 'txpool', 'web3'].sort(),
      )
      const asked = await rpc(url, 'testing_buildBlockV1', [
        `0x${'00'.repeat(32)}`,
        { timestamp: '0x1', prevRandao: `0x${'00'.repeat(32)}`, suggestedFeeRecipient: FIRST },
        [],
      ])
      expect(asked.error).toEqual({ code: -32000, message: 'parentHash is not current head' })
    }),
  )

  it(
    'knows no account, also not those of the mnemonic',
    withNode(['start', '--home', home], async ({ url }) => {
      const unknown = { code: -32000, message: 'unknown account' }
      const typed = { types: { A: [] }, primaryType: 'A', domain: {}, message: {} }
      const transaction = { from: FIRST, to: FIRST, gas: '0x5208', gasPrice: '0x3b9aca00', nonce: '0x1' }
      for (const [method, ...params] of [
        ['eth_sendTransaction', transaction],
        ['eth_signTransaction', transaction],
        ['eth_sign', FIRST, '0x12'],
        ['eth_signTypedData', FIRST, typed],
        ['eth_signTypedData_v3', FIRST, typed],
        ['eth_signTypedData_v4', FIRST, JSON.stringify(typed)],
      ] as const) {
        expect([method, (await rpc(url, method, [...params])).error]).toEqual([method, unknown])
      }
      expect((await rpc(url, 'eth_accounts')).result).toEqual([])
      expect((await rpc(url, 'eth_requestAccounts')).result).toEqual([])
      expect((await rpc(url, 'testing_buildBlockV1')).error?.code).toBe(-32601)
      expect((await rpc(url, 'eth_coinbase')).result).toBe(`0x${'00'.repeat(20)}`)
      expect([(await rpc(url, 'net_listening')).result, (await rpc(url, 'net_peerCount')).result]).toEqual([true, '0x0'])
      expect((await rpc(url, 'web3_sha3', ['0x68656c6c6f'])).result).toBe(
        '0x1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8',
      )
      for (const name of ['dbGet', 'dbAncient', 'dbAncients', 'chaindbProperty', 'chaindbCompact', 'setHead']) {
        expect((await rpc(url, `debug_${name}`, ['0x1'])).error).toMatchObject({ code: -32601, message: expect.stringContaining('use ') })
      }
      expect((await rpc(url, 'eth_subscribe', ['newHeads'])).error).toEqual({ code: -32601, message: 'notifications not supported' })
    }),
  )
})

describe('hearth dev', () => {
  it(
    'signs for its accounts alone',
    withNode(['dev', '--home', home], async ({ url }) => {
      expect(((await rpc(url, 'eth_accounts')).result as string[]).length).toBe(10)
      expect((await rpc(url, 'rpc_modules')).result).toMatchObject({ personal: '1.0' })
      expect((await rpc(url, 'personal_sign', ['0x12', FIRST])).result).toMatch(/^0x[0-9a-f]{130}$/)
      const stranger = '0x00000000000000000000000000000000000000aa'
      expect((await rpc(url, 'personal_sign', ['0x12', stranger])).error?.message).toBe('unknown account')
      expect((await rpc(url, 'eth_sendTransaction', [{ from: stranger, to: FIRST }])).error?.message).toBe('unknown account')
      expect((await rpc(url, 'eth_signTypedData_v4', [FIRST, '{']).catch((e) => e)).error?.code).toBe(-32602)
      const filled = (await rpc(url, 'eth_fillTransaction', [{ from: FIRST, to: stranger, value: '0x1' }])).result as {
        tx: object
        raw: string
      }
      expect(filled.tx).toMatchObject({ type: '0x2', nonce: '0x1', gas: '0x5208', to: stranger, value: '0x1', r: '0x0', s: '0x0' })
      expect(filled.raw).toMatch(/^0x02/)
      const refusal = async (transaction: object): Promise<string | undefined> =>
        (await rpc(url, 'eth_fillTransaction', [{ from: FIRST, ...transaction }])).error?.message
      expect(await refusal({})).toBe('contract creation without any data provided')
      expect(await refusal({ to: FIRST, gasPrice: '0x1', maxFeePerGas: '0x1' })).toBe(
        'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified',
      )
      expect(await refusal({ to: FIRST, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' })).toBe(
        'maxFeePerGas (0x1) < maxPriorityFeePerGas (0x2)',
      )
      expect(await refusal({ to: FIRST, chainId: '0x1' })).toBe("chainId does not match node's (have=1, want=31337)")
      expect(await refusal({ to: FIRST, data: '0x01', input: '0x02' })).toContain('both "data" and "input" are set and not equal')
    }),
  )

  it('leaves `start` to refuse the name of no namespace', () => {
    expect(hearth(['start', '--home', home, '--evm.namespaces=ETH']).status).toBe(2)
  })
})
