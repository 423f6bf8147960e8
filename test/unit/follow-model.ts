// A chain with forks and a pool for tests, with the events of a core, and the notifications that a
// reader must get.
import type { Core, Hex } from '../../ts/core/port.ts'
import type { ChainEvent } from '../../ts/rpc/follow/events.ts'

/** A block: its hash, its parent, and what its logs say. */
export interface ModelBlock {
  readonly number: number
  readonly hash: Hex
  readonly logs: readonly string[]
}

/** Numbers that look random and are the same every time. */
export function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

/** A chain whose every change is an event. */
export class ModelChain {
  readonly chain: ModelBlock[] = []
  readonly events: ChainEvent[] = []
  private readonly blocks = new Map<Hex, ModelBlock>()
  private readonly waiting = new Set<() => void>()
  private made = 0
  /** Events before this one are forgotten. */
  floor = 0
  /** Events of one page. */
  page = 7

  private readonly random: (below: number) => number

  constructor(random: (below: number) => number) {
    this.random = random
  }

  /** A block joins. */
  add(): ModelBlock {
    const number = this.chain.length + 1
    const hash = `0x${(++this.made).toString(16).padStart(64, '0')}`
    const logs = Array.from({ length: this.random(4) }, (_, i) => `${hash}/${i}`)
    const block = { number, hash, logs }
    this.blocks.set(hash, block)
    this.chain.push(block)
    this.deliver(['added', number, hash, 0])
    return block
  }

  /** The head leaves. */
  remove(): void {
    const block = this.chain.pop()
    if (block !== undefined) this.deliver(['removed', block.number, block.hash])
  }

  transaction(hash: Hex): void {
    this.deliver(['transaction', hash])
  }

  private deliver(event: ChainEvent): void {
    this.events.push(event)
    const woken = [...this.waiting]
    this.waiting.clear()
    for (const wake of woken) wake()
  }

  /** The block with this hash, of any branch. */
  block(hash: Hex): ModelBlock {
    return this.blocks.get(hash) as ModelBlock
  }

  /** What the core answers to a follower. */
  core(): Pick<Core, 'events' | 'request'> {
    const request = async (op: string, args: { hash: Hex; removed: boolean }): Promise<Uint8Array> => {
      if (op === 'headNotice') return bytes({ hash: args.hash })
      if (op === 'pendingTransaction') return bytes({ hash: args.hash, blockHash: null })
      if (op !== 'blockLogs') throw new Error(`not asked for here: ${op}`)
      const logs = this.block(args.hash).logs.map((log) => ({ log, removed: args.removed }))
      if (args.removed) logs.reverse()
      return Buffer.from(logs.map((log) => `${JSON.stringify(log)}\n`).join(''))
    }
    const events = async (after: number, wait: boolean): Promise<Uint8Array> => {
      if (wait && after >= this.events.length) await new Promise<void>((resolve) => this.waiting.add(resolve))
      const first = Math.max(after, this.floor)
      const events = this.events.slice(first, first + this.page)
      const next = Math.min(first + events.length, this.events.length)
      return bytes({ next, missed: Math.max(0, this.floor - after), events })
    }
    return { events, request: request as Core['request'] }
  }
}
