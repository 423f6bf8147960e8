// The core of a fork: what lies below its first block is read from the origin, everything else is
// the core's.
import { CoreDecorator } from '../core/decorator.ts'
import { CoreError } from '../core/error.ts'
import type { BlockRef, Core, Operations, ResultStream, StreamOperations } from '../core/port.ts'
import { readBytes, readJson, readText } from '../core/results.ts'
import { UpstreamError } from '../upstream/error.ts'
import { originLogs } from '../upstream/logs.ts'
import { type PassedOn, READS, TRACES } from '../upstream/reads.ts'
import { ElsewhereStream, isMissing, isNull, type Way } from '../upstream/way.ts'
import type { Origin } from './point.ts'

/** Converts an error of the remote node to an error of the core. */
function refused(e: unknown): unknown {
  if (e instanceof UpstreamError) {
    if (e.code === 3) return new CoreError('execution_reverted', e.said, typeof e.data === 'string' ? e.data : undefined)
    return new CoreError('origin', `the origin of the fork: ${e.message}`)
  }
  return e instanceof CoreError ? e : new CoreError('origin', `the origin of the fork: ${(e as Error).message}`)
}

/** What cannot be answered for a fork's own blocks, and why. */
const ONLY_OF_ORIGIN: { readonly [Op in keyof Operations]?: string } = {
  getProof: 'nothing can be proved of the own blocks of a fork, which knows only those parts of the state that were read',
  storageRangeAt: 'the storage of the own blocks of a fork cannot be listed, since it knows only the slots that were read',
}

/** A core whose chain continues from a block of another one. */
export const forkedCore = (core: Core, origin: Origin): Core => new ForkedCore(core, origin)

class ForkedCore extends CoreDecorator {
  protected readonly core: Core
  private readonly origin: Origin
  /** Number of the block that the fork begins after. */
  private readonly first: bigint

  constructor(core: Core, origin: Origin) {
    super()
    this.core = core
    this.origin = origin
    this.first = BigInt(origin.block.number)
  }

  protected inName(core: Core): Core {
    return new ForkedCore(core, this.origin)
  }

  /** The origin's answer to a request, as the bytes that it sent. */
  private async ask(method: string, params: readonly unknown[]): Promise<Uint8Array> {
    try {
      return await this.origin.read(method, params)
    } catch (e) {
      throw refused(e)
    }
  }

  private async head(): Promise<bigint> {
    return BigInt(await readJson(this.core, 'blockNumber', undefined))
  }

  private async wayOf<A>({ about, block }: PassedOn<A>, args: A): Promise<Way> {
    let ref = block(args)
    if (typeof ref === 'object' && 'blockNumber' in ref) ref = ref.blockNumber
    if (about === 'hash' || typeof ref === 'object') {
      const isFirst = typeof ref === 'object' && 'blockHash' in ref && ref.blockHash.toLowerCase() === this.origin.block.hash.toLowerCase()
      return isFirst && about !== 'state' ? { elsewhere: ref as BlockRef } : 'core first'
    }
    const number = ref?.startsWith('0x') === true ? BigInt(ref) : undefined
    if (about === 'state')
      return (number !== undefined && number < this.first) || (ref === 'earliest' && this.first > 0n)
        ? { elsewhere: ref ?? 'latest' }
        : 'core'
    if (number !== undefined) return number <= this.first ? { elsewhere: ref as string } : 'core'
    if (ref === 'earliest') return { elsewhere: ref }
    // The block that the fork begins after is here without its transactions.
    return ref !== 'pending' && (await this.head()) === this.first ? { elsewhere: this.origin.block.number } : 'core'
  }

  override request<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> | string {
    const block = (args as { block?: BlockRef } | undefined)?.block
    const isOfHead = READS[op]?.about === 'state' && (block === undefined || block === 'latest' || block === 'pending')
    return op !== 'getLogs' && (READS[op] === undefined || isOfHead) ? this.core.request(op, args) : this.read(op, args)
  }

  private async read<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> {
    if (op === 'getLogs') {
      const { filter } = args as Operations['getLogs']
      return await originLogs(filter, {
        first: this.first,
        head: () => this.head(),
        here: (filter) => readBytes(this.core, 'getLogs', { filter }),
        there: (filter) => this.ask('eth_getLogs', [filter]),
        isMissing,
      })
    }
    const passed = READS[op] as PassedOn<Operations[Op]> | undefined
    if (passed === undefined) return await readBytes(this.core, op, args)
    const way = await this.wayOf(passed, args)
    const there = (block: BlockRef): Promise<Uint8Array> => this.ask(passed.method, passed.params(args, block))
    if (typeof way === 'object') return await there(way.elsewhere)
    if (way === 'core') return await this.here(op, args)
    try {
      const here = await this.here(op, args)
      if (!isNull(here)) return here
    } catch (e) {
      if (!isMissing(e)) throw e
    }
    return await there(passed.block(args) ?? 'latest')
  }

  /**
   * The response of the core. If the core cannot answer for local blocks of the fork, an error that
   * lists the available blocks.
   */
  private async here<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> {
    const reason = ONLY_OF_ORIGIN[op]
    if (reason === undefined) return await readBytes(this.core, op, args)
    const { block } = args as { readonly block: BlockRef }
    const ref = typeof block === 'object' && 'blockNumber' in block ? block.blockNumber : block
    // A block that is nowhere is said to be unknown, and one that is the origin's is found there.
    if (typeof ref === 'object') await this.core.request('getBlockReceipts', { block: ref })
    else if ((await readText(this.core, 'getBlockByNumber', { block: ref, full: false })) === 'null')
      throw new CoreError('block_not_found', `block #${Number(ref)} not found`)
    const until = `up to block ${this.first}, where the fork begins, the origin answers`
    throw new CoreError('unsupported', `${reason}: ${until}`)
  }

  override stream<Op extends keyof StreamOperations>(op: Op, args: StreamOperations[Op]): ResultStream {
    const passed = TRACES[op] as PassedOn<StreamOperations[Op]> | undefined
    const here = this.core.stream(op, args)
    if (passed === undefined) return here
    const there = (block: BlockRef): Promise<Uint8Array> => this.ask(passed.method, passed.params(args, block))
    return new ElsewhereStream(
      here,
      () => this.wayOf(passed, args),
      there,
      () => passed.block(args) ?? 'latest',
    )
  }
}
