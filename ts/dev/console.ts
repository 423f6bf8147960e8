// The console of a development chain: each transaction as it is mined, why it failed, and what its
// contracts logged.

import { CoreDecorator } from '../core/decorator.ts'
import type { Core, JsonObject, Operations, ResultStream } from '../core/port.ts'
import { readAs } from '../core/results.ts'
import { type ChainEvent, eventCount, eventsAfter } from '../rpc/follow/events.ts'
import { CONSOLE_DIGITS } from './console-log.ts'
import { consoleLines, type Failure, type Frame, failureOf } from './frames.ts'
import type { Printer } from './printer.ts'

/** Longest trace that is read for the console, in bytes. */
const TRACE_BYTES_MAX = 16 * 1024 * 1024

/**
 * How long the console lets events gather before it shows them, in milliseconds: the answer of the
 * request that made them goes out first.
 */
const GATHER_MS = 10

/** Blocks whose transactions are looked at together. */
const BLOCKS_AT_ONCE = 16

/** Calls that wait to be looked at for what they logged; more are not. */
const CALLS_WAITING_MAX = 64

/** A receipt, as far as it is looked at here. */
interface Receipt {
  readonly transactionHash: string
  readonly gasUsed: string
  readonly status?: string
  readonly contractAddress?: string | null
}

/** A transaction as the console shows it. */
export interface Shown {
  readonly block: number
  readonly hash: string
  readonly gasUsed: number
  /** The contract that it made. */
  readonly created: string | undefined
  readonly failure: Failure | undefined
  /** What console.log printed. */
  readonly console: readonly string[]
  /** Its page in the explorer; absent where the node serves none. */
  readonly url?: string | undefined
}

/** Blocks without transactions, one after the other; the hash is that of the last one. */
export interface EmptyBlocks {
  readonly first: number
  readonly last: number
  readonly hash: string
}

/** A block with transactions. */
interface FullBlock {
  readonly number: number
  readonly hash: string
}

/** The frames of a trace; undefined where it is too long, or fails. */
async function framesOf(stream: ResultStream): Promise<Frame | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for (let part = await stream.next(); part !== null; part = await stream.next()) {
      bytes += part.length
      if (bytes > TRACE_BYTES_MAX) {
        stream.cancel()
        return undefined
      }
      parts.push(Buffer.from(part))
    }
    return JSON.parse(Buffer.concat(parts).toString()) as Frame
  } catch {
    return undefined
  }
}

const CALL_TRACER: JsonObject = { tracer: 'callTracer' }

/**
 * Operations that may bring code to the chain, by which the console learns whether anything can
 * log.
 */
const BRINGS_CODE: ReadonlySet<string> = new Set(['sendRawTransaction', 'sendTransaction', 'setCode', 'sendUnsignedTransaction'])

/** Operations after which the known code may be outdated. */
const BRINGS_STATE: ReadonlySet<string> = new Set(['loadState'])

/** From which event on the console is on, or off. */
interface Switched {
  readonly from: number
  readonly enabled: boolean
}

/** Follows a chain and prints it. */
export class Console {
  private readonly core: Core
  private readonly printer: Printer
  /** Whether it is on for current requests. */
  private enabled = true
  /**
   * The same for events, which are read later than they happen: oldest first, the last one holds
   * on.
   */
  private switched: Switched[] = []
  /**
   * Whether some code may call console.log. Where none can, transactions that succeed need no look.
   */
  private mayLog: boolean
  private stopped = false
  /** Where the explorer is; undefined where the node serves none. */
  private explorerUrl: string | undefined
  /** Blocks without transactions that were not printed yet, one after the other. */
  private empty: EmptyBlocks | undefined
  private callsWaiting = 0
  /** Ends the time in which events gather. */
  private endGathering: (() => void) | undefined

  /** `mayLog`: whether the chain may have contracts already. */
  constructor(core: Core, printer: Printer, { mayLog }: { readonly mayLog: boolean }) {
    this.core = core
    this.printer = printer
    this.mayLog = mayLog
  }

  /**
   * The core as requests are to use it, so that the console learns what it cannot see in blocks.
   */
  watched(): Core {
    return new WatchedCore(this.core, (core, op, args) => this.request(core, op, args))
  }

  /** Turns the output of console.log on or off from the next event on. */
  private async switchOutput(core: Core, { enabled }: Operations['setLoggingEnabled']): Promise<Uint8Array> {
    const from = await eventCount(core)
    this.switched.push({ from, enabled })
    this.enabled = enabled
    return Buffer.from('null')
  }

  // Not async: what the core answers at once is an answer at once.
  private request<Op extends keyof Operations>(core: Core, op: Op, args: Operations[Op]): Promise<Uint8Array> | string {
    if (op === 'setLoggingEnabled') return this.switchOutput(core, args as Operations['setLoggingEnabled'])
    if (!this.mayLog)
      this.mayLog = BRINGS_STATE.has(op) || (BRINGS_CODE.has(op) && JSON.stringify(args).toLowerCase().includes(CONSOLE_DIGITS))
    const answer = core.request(op, args)
    if ((op === 'call' || op === 'estimateGas') && this.mayLog) this.lookAtCall(op, args as Operations['call'])
    return answer
  }

  /** Prints what a call logs, which leaves no receipt. */
  private lookAtCall(op: 'call' | 'estimateGas', { transaction, block, stateOverrides, blockOverrides }: Operations['call']): void {
    if (!this.enabled || this.callsWaiting >= CALLS_WAITING_MAX) return
    this.callsWaiting++
    const at = block === undefined || block === 'pending' ? 'latest' : block
    const args = { transaction, block: at, txIndex: undefined, stateOverrides, blockOverrides, config: CALL_TRACER }
    void framesOf(this.core.stream('traceCall', args))
      .then((frame) => {
        const lines = frame === undefined ? [] : consoleLines(frame)
        if (lines.length > 0 && this.enabled) this.printer.call(op === 'call' ? 'eth_call' : 'eth_estimateGas', lines)
      })
      .finally(() => {
        this.callsWaiting--
      })
  }

  /**
   * Follows the chain until `stop`; a chain that closes ends it too. `explorerUrl`: where the
   * explorer is, whose page of each transaction is printed.
   */
  async follow(explorerUrl?: string): Promise<void> {
    this.explorerUrl = explorerUrl
    try {
      for (let cursor = await eventCount(this.core); !this.stopped; ) {
        const { next, missed, events } = await eventsAfter(this.core, cursor, true)
        cursor = next
        await this.gather()
        if (missed > 0 && this.enabled) this.printer.missed(missed)
        await this.print(next - events.length, events)
      }
    } catch (e) {
      if (!this.stopped) this.printer.ended(e)
    }
  }

  /** Prints events, the first of which has this number. */
  private async print(first: number, events: readonly ChainEvent[]): Promise<void> {
    let full: FullBlock[] = []
    const printFull = async (): Promise<void> => {
      const blocks = full
      full = []
      await this.blocks(blocks)
    }
    for (const [i, event] of events.entries())
      if (event[0] === 'added' && this.isOnAt(first + i)) {
        const [, number, hash, transactions] = event
        if (transactions === 0) {
          // Without a wait for each of many empty blocks.
          if (full.length > 0) await printFull()
          this.empty = { first: this.empty?.first ?? number, last: number, hash }
        } else {
          this.tellEmpty()
          if (full.push({ number, hash }) >= BLOCKS_AT_ONCE) await printFull()
        }
      } else if (event[0] === 'removed') {
        if (full.length > 0) await printFull()
        this.tellEmpty()
      }
    await printFull()
    this.tellEmpty()
  }

  /** Whether it is on for the event of this number; called in order of the events. */
  private isOnAt(event: number): boolean {
    const later = this.switched.findIndex(({ from }) => from > event)
    const passed = this.switched.slice(0, later < 0 ? undefined : later)
    this.switched = [...passed.slice(-1), ...(later < 0 ? [] : this.switched.slice(later))]
    return passed.at(-1)?.enabled ?? true
  }

  /** The chain may have contracts from now on that the console knows nothing of. */
  mayLogNow(): void {
    this.mayLog = true
  }

  stop(): void {
    this.stopped = true
    this.endGathering?.()
  }

  private gather(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.stopped ? 0 : GATHER_MS)
      this.endGathering = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** One line for all empty blocks since the last one: many may come at once. */
  private tellEmpty(): void {
    if (this.empty !== undefined) this.printer.empty(this.empty)
    this.empty = undefined
  }

  /** Prints the transactions of blocks. */
  private async blocks(blocks: readonly FullBlock[]): Promise<void> {
    const shown = await Promise.all(blocks.map((block) => this.transactions(block)))
    for (const each of shown.flat()) this.printer.transaction(each)
  }

  /** The transactions of a block, traced one after the other. */
  private async transactions({ number, hash }: FullBlock): Promise<readonly Shown[]> {
    const shown: Shown[] = []
    for (const receipt of await this.receipts(hash)) shown.push(await this.shown(number, receipt))
    return shown
  }

  /** The receipts of a block; none where it left the chain meanwhile. */
  private async receipts(hash: string): Promise<readonly Receipt[]> {
    try {
      return await readAs<Receipt[]>(this.core, 'getBlockReceipts', { block: { blockHash: hash } })
    } catch (e) {
      if (this.stopped) throw e
      return []
    }
  }

  private async shown(block: number, { transactionHash, gasUsed, status, contractAddress }: Receipt): Promise<Shown> {
    const failed = status === '0x0'
    const looked = failed || this.mayLog
    const frame = looked ? await framesOf(this.core.stream('traceTransaction', { hash: transactionHash, config: CALL_TRACER })) : undefined
    return {
      block,
      hash: transactionHash,
      gasUsed: Number(gasUsed),
      created: failed ? undefined : (contractAddress ?? undefined),
      failure: failed ? ((frame && failureOf(frame)) ?? UNKNOWN_FAILURE) : undefined,
      console: frame === undefined ? [] : consoleLines(frame),
      url: this.explorerUrl === undefined ? undefined : `${this.explorerUrl}/tx/${transactionHash}`,
    }
  }
}

/** A failure whose trace cannot be had. */
const UNKNOWN_FAILURE: Failure = { reason: 'failed', type: 'CALL', to: undefined, selector: undefined, depth: 0 }

/** Answers a request on a core. */
type Answer = <Op extends keyof Operations>(core: Core, op: Op, args: Operations[Op]) => Promise<Uint8Array> | string

/** A core whose requests pass through the console. */
class WatchedCore extends CoreDecorator {
  protected readonly core: Core
  private readonly answer: Answer

  constructor(core: Core, answer: Answer) {
    super()
    this.core = core
    this.answer = answer
  }

  protected inName(core: Core): Core {
    return new WatchedCore(core, this.answer)
  }

  override request<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> | string {
    return this.answer(this.core, op, args)
  }
}
