// Where requests that need state go: to an upstream, about the block that is our head.

import { CoreError } from '../core/error.ts'
import type { BlockId, FollowState } from '../core/follow.ts'
import type { BlockRef } from '../core/port.ts'
import { PeerError } from '../peers/error.ts'
import { UpstreamBusy } from '../upstream/client.ts'
import type { Held } from './branch.ts'
import type { Upstreams } from './upstreams.ts'
import { quantity } from './values.ts'

/** Called for each request that goes to an upstream, with the name of its method. */
export type Passed = (method: string) => void

/** How requests are passed on. */
export interface PassingOptions {
  /** Whether they are passed on at all (`follow.redirect`). */
  readonly redirect: boolean
  readonly redirectsAtOnce: number
  readonly timeoutMs: number
}

/** The upstreams as clients of this node meet them. */
export class Elsewhere {
  private readonly upstreams: Upstreams
  private readonly state: () => FollowState
  private readonly hashAt: Held['hashAt']
  private readonly options: PassingOptions
  /** Requests that wait for the first contact with the upstreams. */
  private waiting = 0

  constructor(upstreams: Upstreams, state: () => FollowState, hashAt: Held['hashAt'], options: PassingOptions) {
    this.upstreams = upstreams
    this.state = state
    this.hashAt = hashAt
    this.options = options
  }

  /** Waits for the first contact, where there was none yet. Rejects where too many do. */
  private async contacted(): Promise<void> {
    const { redirect, redirectsAtOnce, timeoutMs } = this.options
    if (!redirect) return
    if (this.waiting >= redirectsAtOnce)
      throw new CoreError('busy', `${redirectsAtOnce} requests wait for the upstream already (follow.redirect_max_in_flight)`)
    this.waiting++
    try {
      await this.upstreams.contacted(timeoutMs)
    } finally {
      this.waiting--
    }
  }

  get head(): BlockId {
    return this.state().head
  }

  /** The block below the first one that is held. */
  get base(): BlockId {
    return this.state().base
  }

  /**
   * A block as requests to the upstream name it: by its hash where it is one of ours, so that the
   * answer is about our chain and not about another head (EIP-1898).
   */
  async pinned(ref: BlockRef | undefined): Promise<BlockRef> {
    if (typeof ref === 'object' && 'blockHash' in ref) return ref
    await this.contacted()
    const { head, base, safe, finalized } = this.state()
    const name = typeof ref === 'object' ? ref.blockNumber : (ref ?? 'latest')
    if (name === 'pending' || name === 'earliest') return name
    if (name === 'latest') return this.byHash(head)
    if (name === 'safe' || name === 'finalized') {
      const block = name === 'safe' ? safe : finalized
      if (block === null) throw new CoreError('header_not_found', `${name} block not found`)
      return this.byHash(block)
    }
    const number = Number(name)
    if (number > head.number) throw new CoreError('header_not_found', 'header not found')
    const hash = number > base.number ? await this.hashAt(number) : undefined
    return hash === undefined ? name : this.byHash({ number, hash })
  }

  /** A block as methods take it that know blocks by number alone; one by hash stays as it is. */
  numbered(ref: BlockRef | undefined): BlockRef {
    const { head, safe, finalized } = this.state()
    if (typeof ref === 'object' && 'blockHash' in ref) return ref
    const name = typeof ref === 'object' ? ref.blockNumber : (ref ?? 'latest')
    const block = { latest: head, safe, finalized }[name]
    return block ? quantity(block.number) : name
  }

  /** A block by its hash where the upstream takes one there. */
  private byHash({ number, hash }: BlockId): BlockRef {
    const takesHash = this.upstreams.best?.upstream.abilities?.byHash !== false
    return takesHash ? { blockHash: hash } : quantity(number)
  }

  /** The upstream's answer as the bytes that it sent; its error as `PeerError`. */
  async read(method: string, params: readonly unknown[], passed: Passed | undefined): Promise<Buffer> {
    if (!this.options.redirect) throw new CoreError('state_elsewhere', `${method}: this node holds no state, and follow.redirect is off`)
    passed?.(method)
    await this.contacted()
    try {
      return await this.upstreams.read(this.head, method, params)
    } catch (e) {
      if (e instanceof PeerError || e instanceof CoreError) throw e
      if (e instanceof UpstreamBusy) throw new CoreError('busy', e.message)
      throw new CoreError('state_elsewhere', `this node holds no state, and its upstream gives no answer: ${(e as Error).message}`)
    }
  }
}
