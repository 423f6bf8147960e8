// The core of a node that follows: blocks, receipts, logs and traces are its own; what needs state,
// and what it does not hold, is the upstream's.
import { CoreDecorator } from '../core/decorator.ts'
import { CoreError } from '../core/error.ts'
import type { BlockRef, Core, Operations, ResultStream, StreamOperations } from '../core/port.ts'
import { readBytes } from '../core/results.ts'
import { originLogs } from '../upstream/logs.ts'
import { FOLLOWED_READS, FOLLOWED_TRACES, type PassedOn, parityMethod } from '../upstream/reads.ts'
import { ElsewhereStream, isMissing, isNull, type Way } from '../upstream/way.ts'
import type { Elsewhere, Passed } from './elsewhere.ts'
import { quantity } from './values.ts'

/** Whether an error of the core says that the upstream may have an answer. */
const isElsewhere = (e: unknown): boolean => isMissing(e) || (e instanceof CoreError && e.kind === 'state_elsewhere')

/** What the decorator needs to know of following. */
export interface FollowView {
  readonly elsewhere: Elsewhere
  /** How far the node is while it catches up; undefined where it has done so. */
  readonly progress: () => { readonly from: number; readonly at: number; readonly to: number } | undefined
}

/** A core in front of which requests that need state are passed on. */
export const followingCore = (core: Core, view: FollowView): Core => new FollowingCore(core, view, undefined)

/** Results that are found by a hash, and name the block that they are in. */
const IN_BLOCK: ReadonlySet<keyof Operations> = new Set([
  'getTransactionReceipt',
  'getTransactionByHash',
  'getBlockByHash',
  'getHeaderByHash',
])

const JSON_NULL = Buffer.from('null')

class FollowingCore extends CoreDecorator {
  protected readonly core: Core
  private readonly view: FollowView
  private readonly passed: Passed | undefined

  constructor(core: Core, view: FollowView, passed: Passed | undefined) {
    super()
    this.core = core
    this.view = view
    this.passed = passed
  }

  protected inName(core: Core): Core {
    return new FollowingCore(core, this.view, this.passed)
  }

  observed(passed: Passed): Core {
    return new FollowingCore(this.core, this.view, passed)
  }

  verified(): 'proven' | 'executed' {
    const { verified } = this.core.follow?.state() ?? {}
    return verified === undefined || verified.executed === 0 ? 'proven' : 'executed'
  }

  private ask(method: string, params: readonly unknown[]): Promise<Buffer> {
    return this.view.elsewhere.read(method, params, this.passed)
  }

  override request<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> | string {
    if (op === 'syncing') return this.syncing()
    return op !== 'getLogs' && FOLLOWED_READS[op] === undefined ? this.core.request(op, args) : this.read(op, args)
  }

  private syncing(): string {
    const progress = this.view.progress()
    if (progress === undefined) return 'false'
    const { from, at, to } = progress
    return JSON.stringify({ startingBlock: quantity(from), currentBlock: quantity(at), highestBlock: quantity(to) })
  }

  /**
   * Where something goes. State is never here. Content is here from the first block that is held;
   * blocks above our head are nowhere yet, whatever the upstream has.
   */
  private async wayOf<A>({ about, block }: PassedOn<A>, args: A): Promise<Way> {
    const { elsewhere } = this.view
    const given = block(args)
    if (about === 'state') return { elsewhere: await elsewhere.pinned(given) }
    const ref = typeof given === 'object' && 'blockNumber' in given ? given.blockNumber : given
    if (about === 'hash' || typeof ref === 'object') return 'core first'
    const base = elsewhere.base.number
    if (ref === 'pending') return { elsewhere: ref }
    if (ref === 'earliest') return base > 0 ? { elsewhere: quantity(0) } : 'core first'
    const number = ref?.startsWith('0x') === true ? Number(ref) : elsewhere.head.number
    if (number > elsewhere.head.number) return 'core'
    return number <= base ? { elsewhere: quantity(number) } : 'core first'
  }

  private async read<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> {
    if (op === 'getLogs') return await this.logs((args as Operations['getLogs']).filter)
    const passed = FOLLOWED_READS[op] as PassedOn<Operations[Op]>
    const there = async (block: BlockRef): Promise<Uint8Array> => {
      const found = await this.ask(passed.method, passed.params(args, block))
      return IN_BLOCK.has(op) ? this.notAhead(op, found) : found
    }
    const way = await this.wayOf(passed, args)
    if (typeof way === 'object') return await there(way.elsewhere)
    try {
      const here = await readBytes(this.core, op, args)
      if (way === 'core' || !isNull(here)) return here
    } catch (e) {
      if (way === 'core' || !isElsewhere(e)) throw e
    }
    return await there(this.view.elsewhere.numbered(passed.block(args)))
  }

  /**
   * A result of the upstream about a block above our head is one that is not there yet: a client
   * that sees a receipt has to find its block. A transaction waits as long as that.
   */
  private notAhead(op: keyof Operations, found: Buffer): Uint8Array {
    if (isNull(found)) return found
    const value = JSON.parse(found.toString('utf8')) as { blockNumber?: string | null; number?: string }
    const number = value.blockNumber ?? value.number
    if (typeof number !== 'string' || Number(number) <= this.view.elsewhere.head.number) return found
    if (op !== 'getTransactionByHash') return JSON_NULL
    return Buffer.from(JSON.stringify({ ...value, blockHash: null, blockNumber: null, transactionIndex: null }))
  }

  /** Logs below the first block are the upstream's; so are those of a range with a hole. */
  private async logs(filter: Operations['getLogs']['filter']): Promise<Uint8Array> {
    const { elsewhere } = this.view
    const there = (filter: Operations['getLogs']['filter']): Promise<Uint8Array> => this.ask('eth_getLogs', [filter])
    const here = async (filter: Operations['getLogs']['filter']): Promise<Uint8Array> => {
      try {
        return await readBytes(this.core, 'getLogs', { filter })
      } catch (e) {
        if (!(e instanceof CoreError) || e.kind !== 'state_elsewhere') throw e
        return await there({ ...filter, ...(await this.range(filter)) })
      }
    }
    const head = async (): Promise<bigint> => BigInt(elsewhere.head.number)
    return await originLogs(filter, { first: BigInt(elsewhere.base.number), head, here, there, isMissing })
  }

  /** The range of a filter in numbers, up to our head. */
  private async range({ blockHash, fromBlock, toBlock }: Operations['getLogs']['filter']): Promise<object> {
    if (blockHash !== undefined) return {}
    const head = this.view.elsewhere.head.number
    const numberOf = (ref: unknown): string =>
      typeof ref === 'string' && ref.startsWith('0x') ? quantity(Math.min(Number(ref), head)) : quantity(head)
    return { fromBlock: fromBlock === 'earliest' ? quantity(0) : numberOf(fromBlock), toBlock: numberOf(toBlock) }
  }

  override stream<Op extends keyof StreamOperations>(op: Op, args: StreamOperations[Op]): ResultStream {
    const passed = FOLLOWED_TRACES[op] as PassedOn<StreamOperations[Op]> | undefined
    const here = this.core.stream(op, args)
    if (passed === undefined) return here
    const method = op === 'parityCalls' ? parityMethod(args as StreamOperations['parityCalls']) : passed.method
    // The steps of a call need the state that it runs on.
    const isCall = (args as { readonly call?: unknown }).call !== undefined
    const about: PassedOn<StreamOperations[Op]> = isCall ? { ...passed, about: 'state' } : passed
    return new ElsewhereStream(
      here,
      () => this.wayOf(about, args),
      async (block) => this.ask(method, passed.params(args, block)),
      () => this.view.elsewhere.numbered(passed.block(args)),
      isElsewhere,
    )
  }
}
