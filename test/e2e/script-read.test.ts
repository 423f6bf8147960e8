// The reads of a script, compared with the same node's answers over JSON-RPC: a chain with
// transactions of every type.
import fs from 'node:fs'
import path from 'node:path'
import { type HearthNode, NotFoundError, openNode, ReorgError } from 'hearth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fixtures } from '../conformance/fixtures.ts'
import { hearth, tempHome } from './harness.ts'

type Json = { readonly [name: string]: unknown }

/** A value of a script as JSON-RPC has it: quantities as `0x` text, what is undefined left out. */
function asJson(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'number') return `0x${value.toString(16)}`
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`
  if (Array.isArray(value)) return value.map(asJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== undefined)
      .map(([name, entry]) => [name, asJson(entry)]),
  )
}

const dir = fixtures('rpc-compat')

describe.skipIf(dir === undefined)('reading a chain', () => {
  const home = tempHome()
  let node: HearthNode
  const ask = (method: string, ...params: unknown[]): Promise<unknown> => node.provider.request({ method, params })

  beforeAll(async () => {
    const [genesis, chain] = ['genesis.json', 'chain.rlp'].map((name) => path.join(dir as string, name))
    const { status, stderr } = hearth(['import', '--home', home, '--genesis', genesis as string, chain as string])
    if (status !== 0) throw new Error(stderr)
    node = await openNode({ home, settings: { 'evm.max_log_no_block': '100000' } })
  })
  afterAll(async () => {
    await node?.close()
    fs.rmSync(home, { recursive: true, force: true })
  })

  it('blocks with transactions equal eth_getBlockByNumber', async () => {
    const blocks = await node.blocks({ full: true }).toArray()
    expect(blocks).toHaveLength(Number(node.height) + 1)
    const types = new Set<number>()
    for (const block of blocks) {
      const answer = (await ask('eth_getBlockByNumber', `0x${block.number.toString(16)}`, true)) as Json & { transactions: Json[] }
      const { transactions, ...header } = block
      const { transactions: theirs, ...head } = answer
      expect(asJson(header)).toEqual(head)
      for (const [i, { yParity, blobVersionedHashes, authorizationList, ...tx }] of transactions.entries()) {
        types.add(tx.type)
        const want = theirs[i] as Json
        const lists = {
          ...(blobVersionedHashes?.length ? { blobVersionedHashes } : {}),
          ...(authorizationList?.length ? { authorizationList } : {}),
        }
        const have = asJson({ ...tx, ...lists, ...(tx.type === 0 ? {} : { yParity }) }) as Json
        const { blockHash, blockNumber, blockTimestamp, ...rest } = want
        expect([blockHash, blockNumber, blockTimestamp]).toEqual(asJson([block.hash, block.number, block.timestamp]))
        expect(have).toEqual(Object.fromEntries(Object.entries(rest).filter(([, entry]) => entry !== null)))
      }
    }
    expect([...types].sort()).toEqual([0, 1, 2, 3, 4])
  })

  it('blocks without transactions have hashes; bytes equal text', async () => {
    const texts = await node.blocks().toArray()
    const bytes = await node.blocks({ form: 'bytes' }).toArray()
    expect(bytes.map(asJson)).toEqual(texts.map(asJson))
    expect(bytes[0]?.hash).toBeInstanceOf(Uint8Array)
  })

  it('receipts are what eth_getBlockReceipts says', async () => {
    const receipts = await node.receipts().toArray()
    let at = 0
    for await (const { number } of node.blocks()) {
      const answers = (await ask('eth_getBlockReceipts', `0x${number.toString(16)}`)) as Json[]
      for (const answer of answers) {
        const { status, logs, ...receipt } = receipts[at++] as (typeof receipts)[number]
        const shown = { ...receipt, ...(status === undefined ? {} : { status: status === 'success' ? 1 : 0 }) }
        const have = { ...(asJson(shown) as Json), logs: logs.map((log) => ({ ...(asJson(log) as Json), removed: false })) }
        expect(have).toEqual(Object.fromEntries(Object.entries(answer).filter(([, entry]) => entry !== null)))
      }
    }
    expect(at).toBe(receipts.length)
  })

  it('logs are what eth_getLogs says, under every kind of filter', async () => {
    const all = (await ask('eth_getLogs', { fromBlock: 'earliest', toBlock: 'latest' })) as Json[]
    const some = all.find(({ topics }) => (topics as string[]).length > 1) ?? all[0]
    const address = some?.address as `0x${string}`
    const topics = some?.topics as `0x${string}`[]
    expect(all.length).toBeGreaterThan(10)
    const filters = [
      {},
      { address },
      { address: [address] },
      { topics: [topics[0] as `0x${string}`] },
      { topics: [null, topics.slice(0, 2)] },
      { address, topics },
    ]
    for (const filter of filters) {
      const answer = (await ask('eth_getLogs', { fromBlock: 'earliest', toBlock: 'latest', ...filter })) as Json[]
      const logs = await node.logs(filter).toArray()
      expect(logs.map((log) => ({ ...(asJson(log) as Json), removed: false }))).toEqual(answer)
    }
  })

  it('accounts, slots and code of any height, many at once', async () => {
    const addresses = [
      ...new Set((await node.receipts().toArray()).flatMap(({ from, to, contractAddress }) => [from, to, contractAddress])),
    ].filter((address) => address !== undefined)
    const none = `0x${'ee'.repeat(20)}` as const
    for (const height of [0n, node.height / 2n, node.height]) {
      const state = node.state(height)
      const tag = `0x${height.toString(16)}`
      const accounts = await state.account([...addresses, none])
      expect(accounts.at(-1)).toBeUndefined()
      for (const [i, address] of addresses.entries()) {
        const proof = (await ask('eth_getProof', address, [], tag)) as Json
        const account = accounts[i]
        expect([account?.balance ?? 0n, account?.nonce ?? 0n].map(asJson)).toEqual([proof.balance, proof.nonce])
        expect(await state.code(address as `0x${string}`)).toBe(await ask('eth_getCode', address, tag))
        if (account !== undefined) expect(await state.code(account.codeHash)).toBe(await ask('eth_getCode', address, tag))
        const values = await state.storage(address as `0x${string}`, [0n, 1, '0x2'])
        for (const slot of [0, 1, 2]) {
          expect(values[slot]).toBe(BigInt((await ask('eth_getStorageAt', address, `0x${slot}`, tag)) as string))
        }
      }
    }
    expect(await node.state().account(none)).toBeUndefined()
    const id = await node.state('latest').block()
    expect(id).toEqual(await node.block())
    expect(await node.state(id.hash as `0x${string}`).block()).toEqual(id)
  })

  it('rows of the state store are the accounts, in any order', async () => {
    const rows = await node.kv.rows('account', { form: 'hex' }).toArray()
    const keys = rows.map(({ key }) => key)
    expect(keys).toEqual([...keys].sort())
    expect((await node.kv.rows('account', { form: 'hex', reverse: true }).toArray()).map(({ key }) => key)).toEqual([...keys].reverse())
    const accounts = await node.state().account(keys)
    expect(accounts.every((account) => account !== undefined)).toBe(true)
    const middle = keys[keys.length >> 1] as `0x${string}`
    expect((await node.kv.rows('account', { form: 'hex', prefix: middle }).toArray()).map(({ key }) => key)).toEqual([middle])
    expect((await node.kv.rows('account', { form: 'hex', from: middle }).toArray()).map(({ key }) => key)).toEqual(
      keys.slice(keys.length >> 1),
    )
    expect(rows.every(({ height }) => height !== undefined && height <= node.height)).toBe(true)
    await expect(node.kv.rows('nothing' as 'account').toArray()).rejects.toMatchObject({ code: 'invalid_params' })
  })

  it('tables are there for reading', async () => {
    expect(await node.tableNames()).toEqual(expect.arrayContaining(['blocks', 'receipts']))
    const table = await node.table('blocks')
    const { hash } = await node.block()
    const row = await table.get(Buffer.from(hash.slice(2), 'hex'))
    const raw = (await ask('debug_getRawBlock', 'latest')) as string
    expect(Buffer.from(row as Uint8Array).toString('hex')).toContain(raw.slice(2))
    expect(table).not.toHaveProperty('put')
    await expect(node.table('nothing')).rejects.toThrow()
  })

  it('ranges: any names, nothing beyond the head, typed errors', async () => {
    const numbers = async (options: Parameters<typeof node.blocks>[0]): Promise<bigint[]> =>
      (await node.blocks(options).toArray()).map(({ number }) => number)
    const { height } = node
    expect(await numbers({ from: height - 1n })).toEqual([height - 1n, height])
    expect(await numbers({ from: Number(height), to: height + 1000n })).toEqual([height])
    expect(await numbers({ from: height + 1n, to: height + 5n })).toEqual([])
    expect(await numbers({ from: 3n, to: 2n })).toEqual([])
    const { hash } = await node.block(2n)
    expect(await numbers({ from: hash as `0x${string}`, to: 3n })).toEqual([2n, 3n])
    await expect(numbers({ from: `0x${'ab'.repeat(32)}` })).rejects.toThrow(NotFoundError)
    // A batch that does not follow what was read before says so.
    const range = { from: 3, to: 5, after: `0x${'ab'.repeat(32)}` }
    await expect(node.core.request('read', { what: 'blocks', of: { range, full: false } })).rejects.toMatchObject({ kind: 'not_canonical' })
    expect(ReorgError.name).toBe('ReorgError')
  })

  it('a signal ends an iteration with its reason', async () => {
    const control = new AbortController()
    const seen: bigint[] = []
    const run = async (): Promise<void> => {
      for await (const { number } of node.blocks({ follow: true, signal: control.signal })) {
        seen.push(number)
        if (number === node.height) setTimeout(() => control.abort(new Error('seen enough')), 20)
      }
    }
    await expect(run()).rejects.toThrow('seen enough')
    expect(seen).toHaveLength(Number(node.height) + 1)
  })
})
