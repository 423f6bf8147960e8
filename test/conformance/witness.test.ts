// Witnesses of the execution-apis chain beside those of go-ethereum, from the first block on of
// which it makes one (Byzantium).
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DevNode, missing, startGethOn } from '../e2e/dev-node.ts'
import { hearth, type RunningNode, rpc, startNode } from '../e2e/harness.ts'
import { fixtures } from './fixtures.ts'

const dir = fixtures('rpc-compat') ?? ''
const without = missing('geth')
if (without !== undefined) console.log(`skipped: witnesses beside those of geth: ${without}`)

/** Blocks of the chain, and the first one under the rules of Byzantium. */
const BLOCKS = 54
const FIRST = 9

interface Witness {
  readonly state: readonly string[]
  readonly codes: readonly string[]
  readonly headers: readonly { readonly hash: string; readonly number: string }[]
}

interface Block {
  readonly transactions: readonly { readonly hash: string }[]
}

describe.skipIf(dir === '' || without !== undefined)('debug_executionWitness', () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-witness-'))
  let node: RunningNode
  let geth: DevNode
  beforeAll(async () => {
    const [genesis, blocks] = [path.join(dir, 'genesis.json'), path.join(dir, 'chain.rlp')]
    expect(hearth(['import', '--home', home, '--genesis', genesis, blocks]).status).toBe(0)
    node = await startNode(['start', '--home', home])
    geth = await startGethOn(genesis, blocks)
  })
  afterAll(async () => {
    await node.stop()
    await geth.stop()
    fs.rmSync(home, { recursive: true, force: true })
  })

  const ask = async <T>(url: string, method: string, ...params: unknown[]): Promise<T> => {
    const answer = await rpc(url, method, params)
    expect(answer.error, method).toBeUndefined()
    return answer.result as T
  }

  /** Codes that a block deployed: go-ethereum lists those of them that later transactions call. */
  const deployed = async (block: string): Promise<Set<string>> => {
    const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }
    const results = await ask<{ result: { post: Record<string, { code?: string }> } }[]>(
      node.url,
      'debug_traceBlockByNumber',
      block,
      config,
    )
    return new Set(results.flatMap(({ result }) => Object.values(result.post).flatMap(({ code }) => code ?? [])))
  }

  it('has no node, code or header that go-ethereum lacks', async () => {
    let [ours, theirs, compared] = [0, 0, 0]
    for (let number = FIRST; number <= BLOCKS; number++) {
      const block = `0x${number.toString(16)}`
      const witness = await ask<Witness>(node.url, 'debug_executionWitness', block, 'legacy')
      const other = await ask<Witness>(geth.url, 'debug_executionWitness', block)
      const known = new Set(other.state)
      expect(
        witness.state.filter((rlp) => !known.has(rlp)),
        `nodes of block ${number}`,
      ).toEqual([])
      const made = await deployed(block)
      expect(witness.codes, `codes of block ${number}`).toEqual([...new Set(other.codes)].filter((code) => !made.has(code)).sort())
      // This version of go-ethereum begins with the parent.
      expect(witness.headers.map(({ hash }) => hash)).toEqual(other.headers.map(({ hash }) => hash).reverse())
      ours += witness.state.length
      theirs += other.state.length
      compared += 1
    }
    expect(compared).toBe(46)
    console.log(`${ours} nodes in ${compared} blocks; go-ethereum's witnesses have ${theirs}`)
    expect(ours).toBeLessThanOrEqual(theirs)
  })

  it('takes a tag, a hash, both forms; refuses what has none', async () => {
    const { hash } = await ask<Block & { hash: string }>(node.url, 'eth_getBlockByNumber', 'latest', false)
    const canonical = await ask<Witness>(node.url, 'debug_executionWitness', 'latest')
    expect(await ask(node.url, 'debug_executionWitness', hash)).toEqual(canonical)
    expect(await ask(node.url, 'debug_executionWitness', { blockHash: hash }, 'canonical')).toEqual(canonical)
    expect(await ask(node.url, 'debug_executionWitnessByHash', hash)).toEqual(canonical)
    expect(Object.keys(canonical)).toEqual(['state', 'codes', 'headers'])
    const raw = await ask<string>(node.url, 'debug_getRawHeader', `0x${(BLOCKS - 1).toString(16)}`)
    expect(canonical.headers).toEqual([raw])
    const refused = async (...params: unknown[]): Promise<unknown> => (await rpc(node.url, 'debug_executionWitness', params)).error
    expect(await refused('earliest')).toMatchObject({ code: -32000, message: 'genesis is not traceable' })
    expect(await refused('pending')).toMatchObject({ code: -32000, message: 'the pending block has no witness' })
    expect(await refused('0x100')).toMatchObject({ code: -32000, message: 'block not found' })
    expect(await refused('latest', 'other')).toMatchObject({ code: -32602 })
  })
})
