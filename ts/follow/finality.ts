// The safe and the finalized block of the upstream, as far as this node holds them.
import type { BlockId, FollowedFinality, FollowPort } from '../core/follow.ts'
import type { Held } from './branch.ts'
import type { Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

/** Time between two looks, in milliseconds. */
const EVERY_MS = 2_000

/** The same while no upstream answers. */
const SOON_MS = 200

/** Passes finality on to the core. */
export class FinalityWatch {
  private readonly port: FollowPort
  private readonly upstreams: Upstreams
  private readonly hashAt: Held['hashAt']
  private timer: NodeJS.Timeout | undefined
  private closed = false
  private under: Promise<void> = Promise.resolve()

  constructor(port: FollowPort, upstreams: Upstreams, hashAt: Held['hashAt']) {
    this.port = port
    this.upstreams = upstreams
    this.hashAt = hashAt
  }

  start(): void {
    this.under = this.look().then(() => {
      const waitMs = this.upstreams.best === undefined ? SOON_MS : EVERY_MS
      if (!this.closed) this.timer = setTimeout(() => this.start(), waitMs)
    })
  }

  /** Resolves once the look under way is over. */
  async stop(): Promise<void> {
    this.closed = true
    clearTimeout(this.timer)
    await this.under
  }

  /**
   * Before blocks above `ancestor` leave the chain: takes back that they are final, where the
   * upstream calls its newest block final. Chains without a consensus client do so, among them
   * development chains (`safe-is-head`), and replace such blocks.
   */
  async takeBack(upstream: Upstream, ancestor: BlockId): Promise<void> {
    const { finalized } = this.port.state()
    if (finalized === null || finalized.number <= ancestor.number) return
    // In this order: a head that comes in between is above both.
    const newest = await upstream.headerAt('latest')
    const final = await upstream.headerAt('finalized')
    if (newest === undefined || final === undefined || final.number < newest.number) return
    await this.port.setFinality({ safe: ancestor.hash, finalized: ancestor.hash })
  }

  /** Never rejects: heads say what is wrong with an upstream. */
  private async look(): Promise<void> {
    const upstream = this.upstreams.best?.upstream
    if (upstream === undefined) return
    try {
      const { safe, finalized } = this.port.state()
      const found = async (tag: 'safe' | 'finalized', now: BlockId | null): Promise<FollowedFinality> => {
        const block = await upstream.headerAt(tag).catch(() => undefined)
        if (block === undefined || block.hash === now?.hash || (await this.hashAt(block.number)) !== block.hash) return {}
        return { [tag]: block.hash }
      }
      const now = { ...(await found('safe', safe)), ...(await found('finalized', finalized)) }
      if (!this.closed && Object.keys(now).length > 0) await this.port.setFinality(now)
    } catch {
      // The chain moved, or the core is being closed: the next look has the next block.
    }
  }
}
