// Follows the heads of the upstreams: fetches the blocks that are missing, gives each to the core
// with what proves it, and continues with the next source, or the next upstream, where one fails.
import { setTimeout as sleep } from 'node:timers/promises'
import type { BlockId, FollowPort, Verified } from '../core/follow.ts'
import { foreignText } from '../peers/words.ts'
import { type Held, OtherChain, pathTo, TooDeep } from './branch.ts'
import { Inserter, Refusal } from './insert.ts'
import { Prefetch } from './prefetch.ts'
import type { SourceRules } from './sources.ts'
import type { Header, Upstream } from './upstream.ts'
import type { Reached, Upstreams } from './upstreams.ts'
import { quantity } from './values.ts'

/** What a follower reports while it works. */
export interface FollowEvents {
  readonly followed: (verified: Verified, ms: number) => void
  readonly hole: (number: number, reason: string) => void
  readonly refused: (field: string) => void
  /** Blocks left the chain. */
  readonly reorg: (blocks: number) => void
  readonly filled: (rounds: number) => void
  /** Bytes of a witness that was received. */
  readonly received: (bytes: number) => void
  readonly log: (level: 'info' | 'warn', message: string, fields?: Readonly<Record<string, string | number>>) => void
}

/** Settings of a follower. */
export interface FollowerOptions extends SourceRules {
  readonly reorgBlocks: number
  /** Blocks that are fetched at the same time. */
  readonly atOnce: number
  /** Bytes of fetched blocks that wait for the core. */
  readonly bytesAhead: number
}

/** What a follower works with. */
export interface FollowerParts {
  readonly port: FollowPort
  readonly upstreams: Upstreams
  readonly hashAt: Held['hashAt']
  /** Called before blocks above `ancestor` leave the chain. */
  readonly beforeReorg: (upstream: Upstream, ancestor: BlockId) => Promise<void>
  readonly events: FollowEvents
  readonly options: FollowerOptions
}

/** Blocks of one turn: the head of the upstream is looked at again after them. */
const TURN_BLOCKS = 64

/** Waits after a failure begin with this, double, and end with that, in milliseconds. */
const RETRY_MS = 200
const RETRY_MS_MAX = 10_000

/** Blocks are behind where an upstream is so much further: fewer are on their way. */
const BEHIND_BLOCKS = 2

/** Follows. */
export class Follower {
  private readonly parts: FollowerParts
  private readonly closing = new AbortController()
  private readonly prefetch: Prefetch
  private readonly inserter: Inserter
  private wake: () => void = () => undefined
  private isWoken = false
  private running: Promise<void> | undefined
  /** Why the last turn failed; undefined where it did not. */
  private failure: string | undefined
  /** Number of the head when catching up began. */
  private startedAt: number | undefined
  private retryMs = RETRY_MS

  constructor(parts: FollowerParts) {
    this.parts = parts
    this.prefetch = new Prefetch(parts.options)
    this.inserter = new Inserter(parts)
  }

  start(): void {
    this.running = this.run()
  }

  /** Resolves once nothing is under way. */
  async stop(): Promise<void> {
    this.closing.abort()
    this.wake()
    await this.running
  }

  /** An upstream has a new head. */
  changed(): void {
    this.isWoken = true
    this.wake()
  }

  /** Blocks between our head and the newest one of the upstreams; undefined if that is unknown. */
  get lag(): number | undefined {
    const { highest } = this.parts.upstreams
    return highest === undefined ? undefined : Math.max(0, highest - this.parts.port.state().head.number)
  }

  /** Why blocks do not come; undefined where they do. */
  get reason(): string | undefined {
    return this.parts.upstreams.failure ?? this.failure
  }

  /** How far the node is while it catches up; undefined where it has done so. */
  get progress(): { readonly from: number; readonly at: number; readonly to: number } | undefined {
    const { lag } = this
    if (lag === undefined || lag <= BEHIND_BLOCKS) return undefined
    const at = this.parts.port.state().head.number
    return { from: this.startedAt ?? at, at, to: at + lag }
  }

  private async run(): Promise<void> {
    while (!this.closing.signal.aborted) {
      this.isWoken = false
      const isDone = await this.turn()
      if (!isDone || this.isWoken || this.closing.signal.aborted) continue
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }

  /** One turn; resolves to whether our head is that of the upstream. Never rejects. */
  private async turn(): Promise<boolean> {
    const { best } = this.parts.upstreams
    if (best === undefined) return true
    try {
      const isDone = await this.advance(best)
      if (isDone) this.startedAt = undefined
      this.failure = undefined
      this.retryMs = RETRY_MS
      return isDone
    } catch (e) {
      await this.failed(best.upstream, e)
      return false
    }
  }

  private async failed(upstream: Upstream, e: unknown): Promise<void> {
    if (this.closing.signal.aborted) return
    const why = foreignText(e instanceof Error ? e.message : String(e))
    if (this.failure !== why) {
      const level = e instanceof Refusal || e instanceof TooDeep || e instanceof OtherChain ? 'warn' : 'info'
      this.parts.events.log(level, 'blocks do not come', { upstream: upstream.shown, reason: why })
    }
    this.failure = why
    await sleep(this.retryMs, undefined, { signal: this.closing.signal }).catch(() => undefined)
    this.retryMs = Math.min(this.retryMs * 2, RETRY_MS_MAX)
  }

  private async advance({ upstream, head }: Reached): Promise<boolean> {
    const { port, hashAt, options } = this.parts
    const state = port.state()
    if (state.head.hash === head.hash) return true
    const isNear = head.number <= state.head.number + TURN_BLOCKS
    const to = isNear ? head : await this.headerAt(upstream, state.head.number + TURN_BLOCKS)
    if (!isNear) this.startedAt ??= state.head.number
    const path = await pathTo(upstream, to, { head: state.head, base: state.base, hashAt }, options.reorgBlocks)
    const [oldest] = path
    if (oldest !== undefined) {
      const ancestor = { number: oldest.number - 1, hash: oldest.parentHash }
      if (ancestor.hash !== state.head.hash) await this.parts.beforeReorg(upstream, ancestor)
      await this.follow(upstream, path)
    }
    return isNear && upstream.head?.hash === head.hash
  }

  private async headerAt(upstream: Upstream, number: number): Promise<Header> {
    const header = await upstream.headerAt(quantity(number))
    if (header === undefined) throw new Error(`${upstream.shown} has no block ${number}, though its head is above it`)
    return header
  }

  /** Gives the blocks of a path to the core, one after the other; later ones are fetched ahead. */
  private async follow(upstream: Upstream, path: readonly Header[]): Promise<void> {
    const { inserter } = this
    const ahead = this.prefetch.begin(path, (block) => inserter.fetch(upstream, block))
    try {
      for (const block of path) {
        if (this.closing.signal.aborted) return
        await inserter.insert(upstream, block, await ahead.next())
      }
    } finally {
      ahead.cancel()
    }
  }
}
