// A node that follows, put together: its upstreams, what watches them, the follower, and the core
// in front of which requests are passed on.
import { CoreError } from '../core/error.ts'
import type { FollowPort } from '../core/follow.ts'
import type { Core } from '../core/port.ts'
import { readAs } from '../core/results.ts'
import type { Forward } from '../peers/forward.ts'
import { UpstreamError } from '../upstream/error.ts'
import { followingCore } from './core.ts'
import { Elsewhere } from './elsewhere.ts'
import { FinalityWatch } from './finality.ts'
import { type FollowEvents, Follower, type FollowerOptions } from './follower.ts'
import { HeadWatch } from './heads.ts'
import { rulesDiffer } from './rules.ts'
import { type SendOptions, sendsTo } from './sends.ts'
import { noSource, usableSources } from './sources.ts'
import { Upstream } from './upstream.ts'
import { Upstreams } from './upstreams.ts'
import { hashOf, quantity } from './values.ts'

/** The settings of following. */
export interface FollowOptions extends FollowerOptions {
  readonly urls: readonly string[]
  /** The WebSocket of the first one. */
  readonly wsUrl: string | undefined
  readonly pollMs: number
  readonly timeoutMs: number
  readonly witnessBytesMax: number
  /** Whether requests that need state are passed on. */
  readonly redirect: boolean
  /** Requests of clients that may be under way at the same time. */
  readonly redirectsAtOnce: number
  /** Blocks that the node may be behind and still be ready. */
  readonly readyLagBlocks: number
  /** A block that the chain of the upstreams must have. */
  readonly checkpoint: string | undefined
}

/** What is known of the chain that is held. */
export interface FollowedChain {
  readonly chainId: number
  readonly genesisHash: string | undefined
}

/** Values of this moment, for metrics. */
export interface FollowSample {
  readonly head: number
  readonly upstreamHead: number | undefined
  readonly lag: number | undefined
  readonly holes: number
  readonly upstreamsReached: number
}

/** A node that follows. */
export interface FollowNode {
  /** In place of the core. */
  readonly core: Core
  /** In place of the node's own handling of transactions. */
  readonly submission: Forward | 'refused'
  /** Why the node is not ready; undefined where it is. */
  readonly reason: () => string | undefined
  readonly sample: () => FollowSample
  start(): void
  /** Resolves once nothing is under way. */
  stop(): Promise<void>
}

/** Puts a node together over the core of a data directory that follows. */
export function followNode(core: Core, chain: FollowedChain, options: FollowOptions, events: FollowEvents): FollowNode {
  const port = core.follow
  if (port === undefined) throw new CoreError('home_incompatible', 'this data directory does not follow another node')
  return new Following(core, port, chain, options, events)
}

class Following implements FollowNode {
  readonly core: Core
  readonly submission: Forward | 'refused'
  private readonly plain: Core
  private readonly port: FollowPort
  private readonly chain: FollowedChain
  private readonly options: FollowOptions
  private readonly events: FollowEvents
  private readonly upstreams: Upstreams
  private readonly follower: Follower
  private readonly finality: FinalityWatch
  private readonly watches: readonly HeadWatch[]

  constructor(core: Core, port: FollowPort, chain: FollowedChain, options: FollowOptions, events: FollowEvents) {
    this.plain = core
    this.port = port
    this.chain = chain
    this.options = options
    this.events = events
    const { urls, wsUrl, pollMs, timeoutMs, witnessBytesMax, redirectsAtOnce } = options
    this.upstreams = new Upstreams(urls.map((url) => new Upstream({ url, timeoutMs, witnessBytesMax, readsAtOnce: redirectsAtOnce })))
    const { upstreams, hashAt } = this
    const finality = new FinalityWatch(port, upstreams, hashAt)
    this.finality = finality
    const beforeReorg = finality.takeBack.bind(finality)
    this.follower = new Follower({ port, upstreams, hashAt, beforeReorg, events, options })
    this.watches = upstreams.all.map(
      (upstream, i) =>
        new HeadWatch({
          upstream,
          wsUrl: i === 0 ? wsUrl : undefined,
          pollMs,
          check: (upstream) => this.check(upstream),
          onChange: () => this.follower.changed(),
        }),
    )
    const elsewhere = new Elsewhere(upstreams, () => port.state(), hashAt, options)
    this.core = followingCore(core, { elsewhere, progress: () => this.follower.progress })
    this.submission = options.redirect ? sendsTo(upstreams, core, this.sending()) : 'refused'
  }

  private sending(): SendOptions {
    const { timeoutMs, redirectsAtOnce } = this.options
    const onFailure = (reason: string, failures: number): void =>
      this.events.log('warn', 'sending to the upstream failed', { reason, failures })
    return { timeoutMs, inFlightMax: redirectsAtOnce, onFailure }
  }

  /** Hash of the canonical block of a number; undefined where none is held. */
  private readonly hashAt = async (number: number): Promise<string | undefined> => {
    try {
      const found = await readAs<{ hash: string } | null>(this.plain, 'getBlockId', { block: quantity(number) })
      return found?.hash
    } catch (e) {
      if (e instanceof CoreError && (e.kind === 'block_not_found' || e.kind === 'header_not_found' || e.kind === 'evm_not_supported'))
        return undefined
      throw e
    }
  }

  /** Whether an upstream that was reached is one of our chain, and gives what it takes. */
  private async check(upstream: Upstream): Promise<void> {
    const { abilities } = upstream
    if (abilities === undefined) return
    const { chainId, genesisHash } = this.chain
    if (abilities.chainId !== chainId) throw new Error(`its chain id is ${abilities.chainId}, and ${chainId} here`)
    const genesis = genesisHash === undefined ? undefined : await upstream.headerAt(quantity(0))
    if (genesis !== undefined && genesis.hash !== genesisHash) throw new Error(`its genesis is ${genesis.hash}, and ${genesisHash} here`)
    const differ = await this.difference(upstream)
    if (differ !== undefined) throw new Error(`its rules are not ours: ${differ} (eth_config)`)
    const sources = usableSources(abilities, this.options)
    if (sources.length === 0) throw new Error(noSource(abilities, this.options))
    if (this.options.checkpoint !== undefined) await this.checkCheckpoint(upstream, this.options.checkpoint)
    this.events.log('info', 'following', {
      upstream: upstream.shown,
      client: abilities.clientVersion,
      sources: sources.map(({ name }) => name).join(', '),
      blocks: abilities.rawBlock ? 'debug_getRawBlock' : 'eth_getBlockByHash',
      ...(abilities.tipOnly ? { witnesses: 'of its newest block alone: older ones would damage its state (go-ethereum #33572)' } : {}),
    })
  }

  private async difference(upstream: Upstream): Promise<string | undefined> {
    let theirs: unknown
    try {
      theirs = await upstream.once('eth_config', [])
    } catch (e) {
      if (!(e instanceof UpstreamError)) throw e
      return undefined
    }
    if (theirs === null) return undefined
    const ours = await readAs<unknown>(this.plain, 'config', undefined).catch(() => undefined)
    return ours === undefined ? undefined : rulesDiffer(ours, theirs)
  }

  private async checkCheckpoint(upstream: Upstream, checkpoint: string): Promise<void> {
    const hash = hashOf(checkpoint, 'follow.checkpoint')
    const block = await upstream.headerByHash(hash)
    const now = await upstream.headerAt(quantity(block.number))
    const held = await this.hashAt(block.number)
    if (now?.hash !== hash || (held !== undefined && held !== hash))
      throw new Error(`the checkpoint ${hash} is not on its chain, or not on ours`)
  }

  start(): void {
    this.follower.start()
    this.finality.start()
    for (const watch of this.watches) watch.start()
  }

  async stop(): Promise<void> {
    for (const watch of this.watches) watch.stop()
    this.upstreams.close()
    await Promise.all([this.follower.stop(), this.finality.stop()])
  }

  reason = (): string | undefined => {
    const { reason, lag } = this.follower
    if (reason !== undefined) return `following: ${reason}`
    const { readyLagBlocks } = this.options
    if (lag === undefined) return 'following: no upstream was reached yet'
    return lag > readyLagBlocks
      ? `following: ${lag} blocks behind the upstream, over ${readyLagBlocks} (follow.ready_lag_blocks)`
      : undefined
  }

  sample = (): FollowSample => {
    const { head, holes } = this.port.state()
    const { highest, reached } = this.upstreams
    return { head: head.number, upstreamHead: highest, lag: this.follower.lag, holes, upstreamsReached: reached.length }
  }
}
