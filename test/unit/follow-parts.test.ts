// Parts of following alone: headers in RLP, versions of clients, rules, and what is fetched ahead.

import { keccak256 } from 'viem'
import { describe, expect, it } from 'vitest'
import { mayBeDamaged } from '../../ts/follow/abilities.ts'
import { Extra } from '../../ts/follow/extra.ts'
import { headerRlp } from '../../ts/follow/header-rlp.ts'
import { Prefetch } from '../../ts/follow/prefetch.ts'
import { rulesDiffer } from '../../ts/follow/rules.ts'
import { SOURCES, usableSources } from '../../ts/follow/sources.ts'

const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

/** Block 0 of mainnet. */
const MAINNET = {
  parentHash: `0x${'00'.repeat(32)}`,
  sha3Uncles: '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347',
  miner: `0x${'00'.repeat(20)}`,
  stateRoot: '0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544',
  transactionsRoot: EMPTY_ROOT,
  receiptsRoot: EMPTY_ROOT,
  logsBloom: `0x${'00'.repeat(256)}`,
  difficulty: '0x400000000',
  number: '0x0',
  gasLimit: '0x1388',
  gasUsed: '0x0',
  timestamp: '0x0',
  extraData: '0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa',
  mixHash: `0x${'00'.repeat(32)}`,
  nonce: '0x0000000000000042',
}

describe('a header of JSON-RPC', () => {
  it('has its hash in RLP', () => {
    const hash = '0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3'
    expect(keccak256(headerRlp(MAINNET) as `0x${string}`)).toBe(hash)
  })

  it('ends with the first field of a fork that it lacks', () => {
    const london = headerRlp({ ...MAINNET, baseFeePerGas: '0x7' })
    expect(headerRlp({ ...MAINNET, baseFeePerGas: '0x7', blobGasUsed: '0x1' })).toBe(london)
    expect(london).not.toBe(headerRlp(MAINNET))
  })

  it('with a field that is missing is no header', () => {
    expect(() => headerRlp({ ...MAINNET, miner: undefined })).toThrow('the field miner of a header is not hex')
  })
})

describe('a witness of an old block', () => {
  it.each([
    ['Geth/v1.16.3-stable/linux-amd64/go1.24', false],
    ['Geth/v1.16.4-stable/linux-amd64/go1.24', true],
    ['Geth/v1.17.1-stable/linux-amd64/go1.24', true],
    ['Geth/name/v1.17.1-stable/linux-amd64/go1.24', true],
    ['Geth/v1.17.2-stable/linux-amd64/go1.24', false],
    ['nitro/v3.5.1/linux-amd64/go1.23', true],
    ['reth/v2.5.1/x86_64-unknown-linux-gnu', false],
    ['unknown', false],
  ])('may damage %s: %s', (version, may) => {
    expect(mayBeDamaged(version)).toBe(may)
  })
})

describe('rules', () => {
  const fork = (activationTime: number, forkId: string, max = 6) => ({ activationTime, forkId, blobSchedule: { max } })
  const ours = { current: fork(10, '0x1'), next: null, last: fork(20, '0x2', 9) }

  it.each([
    [{ current: fork(10, '0x1'), next: fork(20, '0x2', 9), last: null }, undefined],
    [{ current: fork(10, '0x00000000'), next: null, last: null }, undefined],
    [{ current: fork(5, '0x0'), next: null, last: null }, undefined],
    [{ current: fork(10, '0x9'), next: null, last: null }, 'the fork id of the fork at 10 is 0x9, and 0x1 here'],
    [{ current: fork(20, '0x2', 12), next: null, last: null }, 'the blob schedule of the fork at 20 is another one'],
    [{ current: fork(30, '0x3'), next: null, last: null }, "it has the fork at 30, which this node's rules do not have"],
  ])('of another node are compared', (theirs, differ) => {
    expect(rulesDiffer(ours, theirs)).toBe(differ)
  })
})

describe('sources', () => {
  const abilities = {
    clientVersion: 'x',
    chainId: 1,
    rawBlock: true,
    witness: undefined,
    tipOnly: false,
    proof: true,
    byHash: true,
    keys: 'block',
  } as const

  it('are those that an upstream has and the settings allow', () => {
    const names = (source: 'auto' | 'proof' | 'prestate', verify: 'proven' | 'executed'): string[] =>
      usableSources(abilities, { source, verify }).map(({ name }) => name)
    expect(names('auto', 'proven')).toEqual(['proof'])
    expect(names('auto', 'executed')).toEqual(['proof', 'prestate'])
    expect(names('prestate', 'proven')).toEqual([])
  })

  it('begin with the best one', () => {
    expect(SOURCES.map(({ name, verified }) => [name, verified])).toEqual([
      ['witness', 'proven'],
      ['proof', 'proven'],
      ['prestate', 'executed'],
    ])
  })
})

describe('what is fetched ahead', () => {
  /** Fetches that end when the test says so. */
  function fetches(bytes: number) {
    const open: (() => void)[] = []
    const begun: number[] = []
    const fetch = (block: number): Promise<{ bytes: number; block: number }> => {
      begun.push(block)
      return new Promise((resolve) => open.push(() => resolve({ bytes, block })))
    }
    return { open, begun, fetch }
  }

  it('stays within its bounds of number', async () => {
    const { open, begun, fetch } = fetches(1)
    const ahead = new Prefetch({ atOnce: 3, bytesAhead: 1000 }).begin([1, 2, 3, 4, 5], fetch)
    const first = ahead.next()
    expect(begun).toEqual([1, 2, 3])
    open[0]?.()
    expect(await first).toEqual({ bytes: 1, block: 1 })
    expect(begun).toEqual([1, 2, 3, 4])
  })

  it('stays within its bounds of bytes, but for one block', async () => {
    const { open, begun, fetch } = fetches(600)
    const prefetch = new Prefetch({ atOnce: 3, bytesAhead: 1000 })
    const warm = prefetch.begin([0], fetch)
    const zero = warm.next()
    open[0]?.()
    await zero
    const ahead = prefetch.begin([1, 2, 3], fetch)
    const first = ahead.next()
    expect(begun).toEqual([0, 1])
    open[1]?.()
    await first
    expect(begun).toEqual([0, 1, 2])
  })

  it('fails where its block is due, and nowhere else', async () => {
    const fetch = async (block: number): Promise<{ bytes: number; block: number }> => {
      if (block === 2) throw new Error('gone')
      return { bytes: 1, block }
    }
    const ahead = new Prefetch({ atOnce: 3, bytesAhead: 10 }).begin([1, 2, 3], fetch)
    expect(await ahead.next()).toMatchObject({ block: 1 })
    await expect(ahead.next()).rejects.toThrow('gone')
  })
})

describe('what was fetched for a block', () => {
  it('is not asked for again', () => {
    const extra = new Extra()
    expect(extra.unasked('proof', [{ address: '0x1', slots: ['0xa'] }])).toEqual([{ address: '0x1', slots: ['0xa'] }])
    expect(extra.unasked('proof', [{ address: '0x1', slots: ['0xa', '0xb'] }])).toEqual([{ address: '0x1', slots: ['0xb'] }])
    expect(extra.unasked('proof', [{ address: '0x1', slots: ['0xb'] }])).toEqual([])
    expect(extra.bytes()).toBeUndefined()
  })
})
