// The examples of docs/rpc.md, each sent to a node with the demo chain, in order.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Example } from '../../ts/rpc/page.ts'
import { jsonDifference } from './guides/page.ts'
import { ROOT, type RunningNode, rpc, startNode } from './harness.ts'
import { until } from './waiting.ts'

const examples = JSON.parse(fs.readFileSync(path.join(ROOT, 'docs/examples/rpc.json'), 'utf8')) as readonly Example[]

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const TRANSFER = { from: ALICE, to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', value: '0x1', gas: '0x5208' }
const FIRST = '0x26fd249592c2dc293a76615c943298bee55c1e1ed2429979b3ab3dbbecb7676b'

describe('docs/rpc.md', () => {
  let node: RunningNode
  /** The last result of each method. */
  const results = new Map<string, unknown>()
  const ask = async <T>(method: string, ...params: unknown[]): Promise<T> => (await rpc(node.url, method, params)).result as T

  /** What the words in braces stand for. */
  const words: Readonly<Record<string, () => unknown>> = {
    '{hash of block 4}': async () => (await ask<{ hash: string }>('eth_getBlockByNumber', '0x4', false)).hash,
    '{raw block 1}': () => ask('debug_getRawBlock', '0x1'),
    '{raw transaction}': () => ask('eth_getRawTransactionByHash', FIRST),
    '{signed transaction}': async () => (await ask<{ raw: string }>('eth_signTransaction', TRANSFER)).raw,
    '{filter}': () => results.get('eth_newFilter'),
    '{snapshot}': () => results.get('evm_snapshot'),
  }

  beforeAll(async () => {
    node = await startNode(['dev', '--demo'])
    await until('the demo', () => node.log().includes('runs out of gas'))
  })
  afterAll(() => node.stop())

  it.each(examples)('$method returns what the page shows', async ({ method, params, result, error }) => {
    const sent = await Promise.all(params.map((param) => (typeof param === 'string' && words[param]?.()) || param))
    const response = await rpc(node.url, method, sent)
    if (response.error === undefined) results.set(method, response.result)
    expect(response.error === undefined, JSON.stringify(response.error)).toBe(error === undefined)
    expect(error === undefined ? jsonDifference(result, response.result) : jsonDifference(error, response.error)).toBeUndefined()
  })
})
