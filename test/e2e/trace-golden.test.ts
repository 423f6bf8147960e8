// Row 17 of the explorer: what `hearth trace` prints of recorded blocks of mainnet and of ten
// thousand calls is what the files beside this one hold, and anvil and geth give the same trees.
//
//   npx vitest run --update --dir test/e2e trace-golden writes the files
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAnvilOn } from '../bench/anvil.mjs'
import { FIXTURES } from '../conformance/fixtures.ts'
import { ALICE, Calls } from './dev-calls.ts'
import { type DevNode, missing, startAnvil, startGethOn } from './dev-node.ts'
import { deploying } from './explorer-browser.ts'
import { hearth, ROOT, type RunningNode, rpc, startNode, tempHome } from './harness.ts'

const GOLDEN = path.join(import.meta.dirname, 'golden', 'trace')

/** Whether the long tests run too. */
const IS_FULL = process.env.HEARTH_TEST === 'full'

/** Width of the lines of golden files. */
const WIDTH = '160'

const BLOCK_MS_MAX = 300_000

/** Transactions by block, with the row of the acceptance table that has them. */
const CASES: Readonly<Record<number, readonly (readonly [row: number, index: number])[]>> = {
  12459406: [
    [1, 191],
    [2, 5],
    [2, 8],
    [2, 112],
    [3, 6],
    [3, 1],
  ],
  18085863: [[4, 112]],
  19426586: [[4, 74]],
}

const fileOf = (block: number): string => path.join(FIXTURES, 'mainnet-blocks', `${block}.json.gz`)

interface Recorded {
  readonly block: { readonly transactions: readonly { readonly hash: string }[] }
}

const recordedOf = (block: number): Recorded => JSON.parse(zlib.gunzipSync(fs.readFileSync(fileOf(block))).toString()) as Recorded

/** Ends of a long text, and the digest of all of it. */
function ends(text: string): string {
  const lines = text.split('\n')
  const digest = createHash('sha256').update(text).digest('hex')
  return [...lines.slice(0, 8), `… ${lines.length} lines, sha256 ${digest}`, ...lines.slice(-4)].join('\n')
}

const print = (...args: string[]): string => {
  const { status, stdout, stderr } = hearth(['trace', ...args])
  expect([status, stderr]).toEqual([0, ''])
  return stdout
}

/** The tree of a transaction as JSON, as a node gives it. */
const treeOf = (url: string, hash: string): unknown => (JSON.parse(print('--rpc', url, '--json', hash)) as { call: unknown }[])[0]?.call

/**
 * A tree without the gas of its first call: anvil takes the intrinsic gas off what it was given,
 * and has what it used from its receipt, which the state file of a recorded block does not have.
 */
const withoutGas = (tree: unknown): unknown => ({ ...(tree as object), gas: undefined, gasUsed: undefined, ownGas: undefined })

describe.each(Object.entries(CASES))('hearth trace of block %s', (name, cases) => {
  const block = Number(name)
  const isThere = fs.existsSync(fileOf(block))
  if (!isThere) console.log(`skipped: hearth trace of block ${block}: the recorded block is not there`)
  const skips = !isThere || (!IS_FULL && block !== 12459406)
  const home = tempHome()
  const hashes: string[] = []
  let node: RunningNode
  beforeAll(async () => {
    if (skips) return
    hashes.push(...recordedOf(block).block.transactions.map(({ hash }) => hash))
    expect(hearth(['import', '--home', home, '--case', fileOf(block)]).status).toBe(0)
    node = await startNode(['start', '--home', home])
  })
  afterAll(async () => {
    await node?.stop()
    fs.rmSync(home, { recursive: true, force: true })
  })

  it.skipIf(skips).each(cases)('row %i, transaction %i: prints the tree of its golden file', async (_, index) => {
    const text = print('--home', home, '--width', WIDTH, hashes[index] as string)
    await expect(text).toMatchFileSnapshot(path.join(GOLDEN, `${block}-${index}.txt`))
  })

  it.skipIf(skips)('row 17: prints the same of what go-ethereum answered', async () => {
    const file = path.join(FIXTURES, 'geth-answers', 'mainnet-blocks', name, 'callTracer.withLog.json.gz')
    const answers = JSON.parse(zlib.gunzipSync(fs.readFileSync(file)).toString()) as { txHash: string; result: object }[]
    const traces = new Map(answers.map(({ txHash, result }) => [txHash, result]))
    // A node that has go-ethereum's traces, and transactions and receipts of this one.
    const server = http.createServer((request, response) => {
      let body = ''
      request.on('data', (data: Buffer) => {
        body += data.toString()
      })
      request.on('end', async () => {
        const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: string[] }
        const result = method === 'debug_traceTransaction' ? traces.get(params[0] as string) : (await rpc(node.url, method, params)).result
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const { spawn } = await import('node:child_process')
      for (const [, index] of cases) {
        const hash = hashes[index] as string
        // Not with `hearth`, which would keep this process from answering.
        const child = spawn(process.execPath, [path.join(ROOT, 'dist/cli/hearth.cjs'), 'trace', '--rpc', url, '--width', WIDTH, hash])
        let text = ''
        child.stdout.on('data', (data: Buffer) => {
          text += data.toString()
        })
        await new Promise((resolve) => child.once('close', resolve))
        expect(text).toBe(print('--home', home, '--width', WIDTH, hash))
      }
    } finally {
      server.close()
    }
  })

  const noAnvil = missing('anvil')
  // anvil executes everything before a transaction again for each trace.
  const skipsAnvil = skips || !IS_FULL || noAnvil !== undefined || block !== 12459406
  if (!skips && noAnvil !== undefined) console.log(`skipped: trees of mainnet beside anvil: ${noAnvil}`)
  it.skipIf(skipsAnvil)(
    'row 17: anvil gives the same trees',
    async () => {
      const anvil = await startAnvilOn(recordedOf(block), home)
      try {
        for (const [, index] of cases) {
          const hash = hashes[index] as string
          expect(withoutGas(treeOf(anvil.url, hash)), hash).toEqual(withoutGas(treeOf(node.url, hash)))
        }
      } finally {
        await anvil.stop()
      }
    },
    BLOCK_MS_MAX,
  )
})

/** Limits of blobs by fork (EIP-4844, EIP-7691), which geth has no default for. */
const BLOBS = {
  cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
  prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
  osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
}

/** Calls an account without code 10,000 times: 10,001 frames. */
const CALLING = '6127105b600080808080611234619c40f15060019003806003570000'

/**
 * Calls itself with a byte of data and ignores the result; with data it fails with `Error("no")`.
 */
const FAILING = `3660135760006000600160006000305af150005b7f08c379a0${'00'.repeat(28)}60005260206004526002602452616e6f60f01b60445260646000fd`

describe('hearth trace of ten thousand calls', () => {
  const home = tempHome()
  const hashes: string[] = []
  let node: RunningNode
  let dev: Calls
  beforeAll(async () => {
    node = await startNode(['dev', '--home', home])
    dev = new Calls(node.url)
    const deployed = async (code: string): Promise<string> => {
      const hash = await dev.send(ALICE, undefined, { gas: '0xf4240', data: deploying(code) })
      hashes.push(hash)
      return (await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', hash)).contractAddress
    }
    hashes.push(await dev.send(ALICE, await deployed(CALLING), { gas: '0x200000' }))
    const failing = await deployed(FAILING)
    hashes.push(await dev.send(ALICE, failing, { gas: '0xf4240' }), await dev.send(ALICE, failing, { gas: '0xf4240', data: '0x01' }))
  })
  afterAll(async () => {
    await node?.stop()
    fs.rmSync(home, { recursive: true, force: true })
  })

  it('row 8: prints the tree of its golden file', async () => {
    const text = print('--home', home, '--width', WIDTH, hashes[1] as string)
    expect(text.split('\n').filter((line) => line.includes('─ [0] CALL '))).toHaveLength(10_000)
    await expect(ends(text)).toMatchFileSnapshot(path.join(GOLDEN, 'calls.txt'))
    const failed = hashes.slice(3).map((hash) => print('--home', home, '--width', WIDTH, hash))
    await expect(failed.join('\n')).toMatchFileSnapshot(path.join(GOLDEN, 'failures.txt'))
  })

  /** What a peer prints is what this node prints, line by line. */
  const compared = (peer: DevNode): void => {
    for (const hash of hashes) {
      expect(print('--rpc', peer.url, hash)).toBe(print('--rpc', node.url, hash))
    }
    for (const hash of hashes.slice(3)) {
      const [theirs, ours] = [treeOf(peer.url, hash), treeOf(node.url, hash)]
      if (peer.name === 'anvil') expect(withoutGas(theirs)).toEqual(withoutGas(ours))
      else expect(theirs).toEqual(ours)
    }
    for (const [flag, method] of [
      ['--steps=0..3', 'debug_traceSteps'],
      ['--gas=opcode', 'debug_traceGasProfile'],
    ] as const) {
      const { status, stderr } = hearth(['trace', '--rpc', peer.url, flag, hashes[1] as string])
      expect([status, stderr]).toEqual([1, expect.stringContaining(`needs ${method}, which this node does not have or does not serve`)])
    }
  }

  const noAnvil = missing('anvil')
  if (noAnvil !== undefined) console.log(`skipped: trees beside anvil: ${noAnvil}`)
  it.skipIf(noAnvil !== undefined)('row 17: anvil gives equal trees', async () => {
    const anvil = await startAnvil()
    try {
      for (const hash of hashes) {
        const raw = await dev.call<string>('eth_getRawTransactionByHash', hash)
        expect((await rpc(anvil.url, 'eth_sendRawTransaction', [raw])).result).toBe(hash)
      }
      compared(anvil)
    } finally {
      await anvil.stop()
    }
  })

  const noGeth = missing('geth')
  if (noGeth !== undefined) console.log(`skipped: trees beside geth: ${noGeth}`)
  it.skipIf(noGeth !== undefined)('row 17: geth gives equal trees', async () => {
    const chain = path.join(home, 'chain.rlp')
    expect(await node.stop()).toBe(0)
    expect(hearth(['export', '--home', home, chain]).status).toBe(0)
    node = await startNode(['start', '--home', home])
    const genesis = path.join(home, 'genesis-of-geth.json')
    const { config, ...rest } = JSON.parse(fs.readFileSync(path.join(home, 'config', 'genesis.json'), 'utf8')) as { config: object }
    fs.writeFileSync(genesis, JSON.stringify({ ...rest, config: { blobSchedule: BLOBS, ...config } }))
    const geth = await startGethOn(genesis, chain)
    try {
      compared(geth)
    } finally {
      await geth.stop()
    }
  })
})
