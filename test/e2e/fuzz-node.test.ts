// A live node under wrong parameters of every method: every answer is one, and the node continues.
import fs from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { METHODS, namespaceOf } from '../../ts/rpc/table.ts'
import { seeded } from '../unit/follow-model.ts'
import { kindOfParam } from '../unit/param-kinds.ts'
import { type RunningNode, rpc, startNode, tempHome } from './harness.ts'

const home = tempHome()
let node: RunningNode

beforeAll(async () => {
  const namespaces = [...new Set(METHODS.map((m) => namespaceOf(m.name)))].filter((name) => name !== 'engine').join(',')
  const legacy = METHODS.filter((m) => namespaceOf(m.name) === 'chain').map((m) => m.name)
  const flags = [`--evm.namespaces=${namespaces}`, `--evm.enabled_legacy_chain_apis=${legacy.join(',')}`]
  node = await startNode(['dev', '--home', home, ...flags])
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

/** Wait for a receipt that never comes. */
const WAITS: readonly string[] = ['eth_sendRawTransactionSync', 'eth_sendTransactionSync']

it('answers every wrong and right value of every parameter', async () => {
  const random = seeded(5)
  for (const { name, params } of METHODS.filter((m) => !WAITS.includes(m.name) && namespaceOf(m.name) !== 'engine')) {
    const kinds = params.map((param) => kindOfParam(param))
    const good = kinds.map((kind) => kind?.good)
    const { error } = await rpc(node.url, name, good)
    expect(error?.code ?? 0, `${name}: ${error?.message}`).not.toBe(-32603)
    for (const [place, kind] of kinds.entries()) {
      // A share of them each time: the unit test has them all.
      for (const bad of (kind?.bad ?? []).filter((value) => !isLarge(value) && random(4) === 0)) {
        const answer = await rpc(node.url, name, good.with(place, bad))
        expect([-32602, -32005], `${name} ${params[place]?.name} ${JSON.stringify(bad)}: ${JSON.stringify(answer)}`).toContain(
          answer.error?.code,
        )
      }
    }
  }
  expect((await rpc(node.url, 'eth_blockNumber')).result).toMatch(/^0x/)
  expect(node.log()).not.toMatch(/error:/)
})

it('refuses half a million topics', async () => {
  const topics = Array.from({ length: 500_000 }, () => null)
  expect((await rpc(node.url, 'eth_getLogs', [{ topics }])).error).toMatchObject({
    code: -32602,
    message: expect.stringContaining('exceed max topics'),
  })
})

const isLarge = (value: unknown): boolean => JSON.stringify(value).length > 100_000
