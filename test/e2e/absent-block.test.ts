// An absent block is the head, on a node that runs.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningNode, rpc, startNode } from './harness.ts'

const A = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const B = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const C = `0x${'cc'.repeat(20)}`
const SLOT = `0x${'0'.repeat(64)}`
const VALUE = `0x${'7'.padStart(64, '0')}`

let node: RunningNode
beforeAll(async () => {
  node = await startNode(['dev'])
  // The head differs from block 0 in all values that are read below.
  const pay = async (): Promise<void> => {
    expect((await rpc(node.url, 'eth_sendTransaction', [{ from: A, to: B, value: '0x1' }])).error).toBeUndefined()
  }
  await pay()
  await rpc(node.url, 'anvil_setCode', [C, '0x60005460005260206000f3'])
  await rpc(node.url, 'anvil_setStorageAt', [C, SLOT, VALUE])
  await pay()
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
})

it.each([
  ['eth_call', [{ to: C }]],
  ['eth_createAccessList', [{ from: A, to: C }]],
  ['eth_estimateGas', [{ from: A, to: C }]],
  ['eth_getBalance', [A]],
  ['eth_getCode', [C]],
  ['eth_getProof', [C, [SLOT]]],
  ['eth_getStorageAt', [C, SLOT]],
  ['eth_getStorageValues', [{ [C]: [SLOT] }]],
  ['eth_getTransactionCount', [A]],
  ['eth_getAccount', [A]],
  ['eth_getAccountInfo', [A]],
  ['eth_simulateV1', [{ blockStateCalls: [{ blockOverrides: { time: '0xffffffff' }, calls: [{ to: C }] }] }]],
] as [string, unknown[]][])('%s without a block is of the head', async (method, params) => {
  const wanted = await rpc(node.url, method, [...params, 'latest'])
  expect(wanted.error).toBeUndefined()
  expect(await rpc(node.url, method, params)).toEqual(wanted)
  expect(await rpc(node.url, method, [...params, null])).toEqual(wanted)
  expect(await rpc(node.url, method, [...params, '0x0'])).not.toEqual(wanted)
})
