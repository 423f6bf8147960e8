// An upstream and a core for tests of following: both know blocks by names, and nothing of them is
// executed.
import { createHash } from 'node:crypto'
import { CoreError } from '../../ts/core/error.ts'
import type { FollowAnswer, FollowedFinality, FollowMeta, FollowPort, FollowState } from '../../ts/core/follow.ts'
import type { Core } from '../../ts/core/port.ts'
import type { FollowEvents } from '../../ts/follow/follower.ts'
import type { FollowOptions } from '../../ts/follow/node.ts'
import { fakeCore, fakeStream } from './fake-core.ts'
import { type Answer, type Asked, answered, type JsonServer, jsonServer, type Reply } from './json-server.ts'

/** A block of a test. */
export interface TestBlock {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
}

export const hex = (number: number): string => `0x${number.toString(16)}`

const hashOf = (text: string): string => `0x${createHash('sha256').update(text).digest('hex')}`

/** Blocks on top of one; `branch` names the branch. */
export function blocksAfter(parent: TestBlock, count: number, branch = ''): TestBlock[] {
  const blocks: TestBlock[] = []
  let last = parent
  for (let i = 0; i < count; i++) {
    last = { number: last.number + 1, hash: hashOf(`${branch} ${last.number + 1} ${last.hash}`), parentHash: last.hash }
    blocks.push(last)
  }
  return blocks
}

export const GENESIS: TestBlock = { number: 0, hash: hashOf('genesis'), parentHash: `0x${'00'.repeat(32)}` }

/** How requests are answered that the chain does not answer; undefined: there is no such method. */
type More = (request: Asked, upstream: TestUpstream) => Answer | undefined

const notFound = (message = 'block not found'): Answer => ({ error: { code: -32000, message } })

/** A node that is followed. */
export class TestUpstream {
  /** Every block that it has, of any branch. */
  readonly blocks = new Map<string, TestBlock>([[GENESIS.hash, GENESIS]])
  /** The canonical chain. */
  chain: TestBlock[] = [GENESIS]
  clientVersion = 'Hearth/v0.1.0'
  chainId = 7
  more: More = () => undefined
  /** What becomes of a whole message; undefined where it is answered. */
  fault: (requests: readonly Asked[]) => Reply | undefined = () => undefined
  server!: JsonServer

  static async start(more?: More): Promise<TestUpstream> {
    const upstream = new TestUpstream()
    if (more !== undefined) upstream.more = more
    upstream.server = await jsonServer((requests, isBatch) => {
      return upstream.fault(requests) ?? answered(requests, isBatch, (request) => upstream.answer(request))
    })
    return upstream
  }

  get url(): string {
    return this.server.url
  }

  get head(): TestBlock {
    return this.chain.at(-1) as TestBlock
  }

  /** Makes blocks the newest ones, in place of those from the first one's number on. */
  add(blocks: readonly TestBlock[]): void {
    for (const block of blocks) {
      this.blocks.set(block.hash, block)
      this.chain = [...this.chain.slice(0, block.number), block]
    }
  }

  /** Methods that were requested, with their parameters. */
  asked(method: string): readonly (readonly unknown[])[] {
    return this.server.messages.flat().flatMap((request) => (request.method === method ? [request.params] : []))
  }

  private at(tag: unknown): TestBlock | undefined {
    return tag === 'latest' ? this.head : this.chain[Number(tag)]
  }

  private answer(request: Asked): Answer {
    const { method, params } = request
    const more = this.more(request, this)
    if (more !== undefined) return more
    const json = (block: TestBlock | undefined): Answer => ({
      result: block === undefined ? null : { ...block, number: hex(block.number), miner: `0x${'aa'.repeat(20)}`, transactions: [] },
    })
    if (method === 'web3_clientVersion') return { result: this.clientVersion }
    if (method === 'eth_chainId') return { result: hex(this.chainId) }
    if (method === 'eth_getBlockByNumber') return json(this.at(params[0]))
    if (method === 'eth_getBlockByHash') return json(this.blocks.get(String(params[0])))
    if (method === 'eth_getBalance') return { result: '0x0' }
    if (method === 'debug_getRawBlock') {
      const block = this.blocks.get(String(params[0]))
      return block === undefined ? notFound() : { result: JSON.stringify(block) }
    }
    if (method === 'debug_executionWitnessByHash') {
      const block = this.blocks.get(String(params[0]))
      return block === undefined ? notFound() : { result: { state: [block.hash] } }
    }
    return { error: { code: -32601, message: `the method ${method} does not exist/is not available` } }
  }
}

/** One block as it was given to the core. */
export interface Given extends FollowMeta {
  readonly number: number
  readonly witness: string | undefined
  readonly extra: Record<string, unknown> | undefined
}

/** A core that keeps a chain of names. */
export class TestCore implements FollowPort {
  readonly base: TestBlock
  chain: TestBlock[]
  readonly given: Given[] = []
  readonly finality: FollowedFinality[] = []
  holes = 0
  /** What is answered instead of taking a block. */
  judge: (given: Given, block: TestBlock) => FollowAnswer | undefined = () => undefined
  readonly core: Core

  constructor(base: TestBlock = GENESIS) {
    this.base = base
    this.chain = [base]
    const fake = fakeCore(
      {
        getBlockId: async (args) => {
          const number = Number((args as { block: string }).block)
          const found = this.chain.find((block) => block.number === number)
          if (found === undefined) throw new CoreError('block_not_found', `block #${number} not found`)
          return JSON.stringify({ number: hex(number), hash: found.hash })
        },
        config: '{"current":{"activationTime":0,"forkId":"0x01","blobSchedule":null},"next":null,"last":null}',
        keccak: async (args) => JSON.stringify(hashOf((args as { data: string }).data)),
        getBlockByHash: 'null',
        getTransactionReceipt: 'null',
        getTransactionByHash: 'null',
        getBlockByNumber: async (args) => `{"here":"${(args as { block: string }).block}"}`,
        getLogs: async (args) => JSON.stringify([{ here: (args as { filter: object }).filter }]),
        syncing: 'false',
      },
      () => fakeStream(['"trace"']),
    )
    this.core = { ...fake, follow: this }
  }

  get head(): TestBlock {
    return this.chain.at(-1) as TestBlock
  }

  async block(meta: FollowMeta, bytes: Buffer, witness: Buffer | undefined, extra: Buffer | undefined): Promise<FollowAnswer> {
    const text = JSON.parse(bytes.toString()) as string | TestBlock
    const given = typeof text === 'string' ? (JSON.parse(text) as TestBlock) : text
    const block = { number: Number(given.number), hash: given.hash, parentHash: given.parentHash }
    const record: Given = {
      ...meta,
      number: block.number,
      witness: witness?.toString(),
      extra: extra === undefined ? undefined : (JSON.parse(extra.toString()) as Record<string, unknown>),
    }
    this.given.push(record)
    if (this.chain.some(({ hash }) => hash === meta.hash)) return { status: 'known' }
    const at = this.chain.findIndex(({ hash }) => hash === block.parentHash)
    if (at < 0) return { status: 'unknownParent', parent: block.parentHash }
    const final = this.chain.findIndex(({ hash }) => hash === this.finality.at(-1)?.finalized)
    if (final > at) return { status: 'refused', field: 'reorg', reason: `the finalized block ${final} would leave the chain` }
    const judged = this.judge(record, block)
    if (judged !== undefined && judged.status !== 'hole') return judged
    const removed = this.chain.length - 1 - at
    this.chain = [...this.chain.slice(0, at + 1), block]
    if (meta.source === 'none' || judged !== undefined) {
      this.holes++
      return judged ?? { status: 'hole', reason: 'no source' }
    }
    return { status: 'followed', number: block.number, hash: block.hash, verified: 'proven', removed, fillRounds: 0 }
  }

  state(): FollowState {
    const { base, head, holes } = this
    const named = (tag: 'safe' | 'finalized'): TestBlock | null =>
      this.chain.find(({ hash }) => hash === this.finality.at(-1)?.[tag]) ?? null
    const [safe, finalized] = [named('safe'), named('finalized')]
    return { head, base, holes, chainId: 7, genesisHash: GENESIS.hash, verified: { proven: 1, executed: 0 }, safe, finalized }
  }

  async setFinality(finality: FollowedFinality): Promise<void> {
    this.finality.push(finality)
  }
}

/** Events by their names, with what they carry. */
export function recordedEvents(): FollowEvents & { readonly all: unknown[][] } {
  const all: unknown[][] = []
  const record =
    (name: string) =>
    (...values: unknown[]): void =>
      void all.push([name, ...values])
  return {
    all,
    followed: (verified) => void all.push(['followed', verified]),
    hole: record('hole'),
    refused: record('refused'),
    reorg: record('reorg'),
    filled: record('filled'),
    received: record('received'),
    log: (level, message) => void all.push([level, message]),
  }
}

/** Options of following an upstream. */
export const optionsFor = (urls: readonly string[], more: Partial<FollowOptions> = {}): FollowOptions => ({
  urls,
  wsUrl: undefined,
  source: 'auto',
  verify: 'proven',
  pollMs: 20,
  timeoutMs: 2000,
  reorgBlocks: 128,
  witnessBytesMax: 1_000_000,
  bytesAhead: 1_000_000,
  atOnce: 4,
  redirect: true,
  redirectsAtOnce: 100,
  readyLagBlocks: 8,
  checkpoint: undefined,
  ...more,
})
