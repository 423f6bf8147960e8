// A home that began in the middle of a chain: requests for heights before it have an error of their
// own, for clients and for metrics.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIXTURES, fixtures } from '../conformance/fixtures.ts'
import { parseScrape, samplesOf } from '../unit/scrape.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from './harness.ts'

/** The recorded block that the home begins with. */
const FIRST = 46_147

const ZERO = `0x${'00'.repeat(20)}`

describe.skipIf(!fixtures('mainnet-blocks'))('heights before the first block', () => {
  const home = tempHome()
  let node: RunningNode

  beforeAll(async () => {
    const imported = hearth(['import', '--home', home, '--case', path.join(FIXTURES, `mainnet-blocks/${FIRST}.json.gz`)])
    expect([imported.status, imported.stderr]).toEqual([0, expect.any(String)])
    node = await startNode(['start', '--home', home])
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  it.each([
    ['eth_getBlockByNumber', ['0x5', false]],
    ['eth_getBalance', [ZERO, '0x5']],
    ['eth_call', [{ to: ZERO }, '0x5']],
    ['debug_traceBlockByNumber', ['0x5']],
  ])('%s says so, and counts as evm_not_supported', async (method, params) => {
    const answer = await rpc(node.url, method, params)
    const message = `block 5 is before the first block of this node, which is block ${FIRST}`
    expect(answer.error).toEqual({ code: -32000, message })
    const samples = samplesOf(parseScrape(await (await fetch(node.metrics as string)).text(), 'prometheus'))
    const labels = `endpoint="${method}",connection="http",success="false",error_class="evm_not_supported",jsonrpc_code="server"`
    expect(samples.get(`evmrpc_request_latency_seconds_count{${labels}}`)).toBe(1)
  })

  it('the block after the head is absent, which is no such error', async () => {
    expect((await rpc(node.url, 'eth_getBlockByNumber', [`0x${(FIRST + 1).toString(16)}`, false])).result).toBeNull()
  })
})
