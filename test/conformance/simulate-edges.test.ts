// eth_simulateV1 at the edges of every integer field, over the execution-apis chain: answers that
// go-ethereum v1.17.0 gave, by value, and a comparison with go-ethereum itself if it is installed.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DevNode, missing, startGethOn } from '../e2e/dev-node.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from '../e2e/harness.ts'
import { fixtures } from './fixtures.ts'
import { differences, edgeRequest, isDeviation } from './simulate-requests.ts'

const dir = fixtures('rpc-compat')
const GENESIS = path.join(dir ?? '', 'genesis.json')
const CHAIN = path.join(dir ?? '', 'chain.rlp')

/** Requests of the comparison; the same ones each time. */
const REQUESTS = process.env.HEARTH_TEST === 'full' ? 3_000 : 600
const SEED = 20_261_122

/** How long the comparison may take, in milliseconds: far more than it does. */
const COMPARISON_MS_MAX = 600_000

interface Block {
  hash: string
  stateRoot: string
  calls: { status: string; gasUsed: string; returnData: string; error?: { message: string }; logs: unknown[] }[]
}

interface Recorded {
  name: string
  params: unknown[]
  want: unknown
}

const recorded = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, 'simulate-edges.json'), 'utf8')) as Recorded[]

/** What is recorded of an answer. */
function summary({ result, error }: Awaited<ReturnType<typeof rpc>>): unknown {
  if (error) return { code: error.code }
  return (result as Block[]).map(({ hash, stateRoot, calls }) => ({
    hash,
    stateRoot,
    calls: calls.map((c) => [c.status, c.gasUsed, c.returnData, c.error?.message ?? null, c.logs.length]),
  }))
}

describe.skipIf(!dir)('eth_simulateV1 at the edges', () => {
  const home = tempHome()
  let node: RunningNode

  beforeAll(async () => {
    const imported = hearth(['import', '--home', home, '--genesis', GENESIS, CHAIN])
    expect(imported.status, imported.stderr).toBe(0)
    node = await startNode(['start', '--home', home])
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  it.each(recorded)('$name', async ({ params, want }) => {
    expect(summary(await rpc(node.url, 'eth_simulateV1', params))).toEqual(want)
  })

  it('a creation at the highest nonce fails in eth_call too', async () => {
    const from = '0xc000000000000000000000000000000000000000'
    const state = { [from]: { nonce: '0xffffffffffffffff', balance: '0xffff' } }
    for (const method of ['eth_call', 'eth_estimateGas']) {
      const { error } = await rpc(node.url, method, [{ from, input: '0x60006000f3' }, 'latest', state])
      expect(error).toEqual({ code: -32000, message: 'nonce uint64 overflow' })
    }
  })

  describe('beside go-ethereum', () => {
    const why = missing('geth')
    if (why !== undefined) console.log(`skipped: eth_simulateV1 beside go-ethereum: ${why}`)
    let geth: DevNode
    beforeAll(async () => {
      if (why === undefined) geth = await startGethOn(GENESIS, CHAIN)
    }, COMPARISON_MS_MAX)
    afterAll(async () => {
      await geth?.stop()
    })

    it.skipIf(why !== undefined)(
      'requests at the edges have the same answers',
      async () => {
        const different: string[] = []
        let compared = 0
        for (let number = 0; number < REQUESTS; number++) {
          const params = edgeRequest(SEED + number)
          const [want, have] = await Promise.all([geth.url, node.url].map((url) => rpc(url, 'eth_simulateV1', params)))
          if (want === undefined || have === undefined || isDeviation(params, want, have)) continue
          compared++
          const found = differences(want, have)
          if (found.length > 0) different.push([JSON.stringify(params), ...found.slice(0, 4)].join('\n  '))
        }
        expect(different).toEqual([])
        // The others meet a named deviation.
        expect(compared).toBeGreaterThan(REQUESTS / 4)
      },
      COMPARISON_MS_MAX,
    )
  })
})
