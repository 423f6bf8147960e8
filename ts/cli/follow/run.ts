// A node that follows another one, on a data directory: what serve takes, and its metrics and log.
import type { Settings } from '../../config/index.ts'
import type { Core } from '../../core/port.ts'
import { readJson } from '../../core/results.ts'
import { type FollowEvents, type FollowNode, type FollowOptions, followNode } from '../../follow/index.ts'
import type { Log } from '../../log/index.ts'
import type { Watching } from '../../metrics/index.ts'
import { shownUrl } from '../../peers/post.ts'
import { REFUSED_FIELDS } from '../../rpc/instruments.ts'
import { NO_METER, type RequestMeter } from '../../rpc/meter.ts'
import type { Extras, Following } from '../commands/node.ts'
import type { NodeMetrics } from '../metrics.ts'
import { FOLLOWED_BLOCKS } from '../submission.ts'

/** The options of following, from the settings. */
function optionsOf(settings: Settings): FollowOptions {
  const orNone = (text: string): string | undefined => (text === 'none' ? undefined : text)
  return {
    urls: settings['follow.upstream_urls'],
    wsUrl: orNone(settings['follow.upstream_ws_url']),
    source: settings['follow.source'],
    verify: settings['follow.verify'],
    pollMs: settings['follow.poll_interval'],
    timeoutMs: settings['follow.timeout'],
    reorgBlocks: settings['follow.reorg_blocks'],
    witnessBytesMax: settings['follow.max_witness_bytes'],
    bytesAhead: settings['follow.max_witness_bytes'],
    atOnce: settings['follow.at_once'],
    redirect: settings['follow.redirect'],
    redirectsAtOnce: settings['follow.redirect_max_in_flight'],
    readyLagBlocks: settings['follow.ready_lag_blocks'],
    checkpoint: orNone(settings['follow.checkpoint']),
  }
}

type RefusedField = (typeof REFUSED_FIELDS)[number]

const fieldOf = (field: string): RefusedField => REFUSED_FIELDS.find((known) => known === field) ?? 'other'

/** One run of `hearth follow`. */
export class FollowRun implements Following {
  private readonly settings: Settings
  private node: FollowNode | undefined
  private meter: RequestMeter = NO_METER
  private log: Log | undefined
  private readonly counts = { reorged: 0, rounds: 0, bytes: 0 }

  constructor(settings: Settings) {
    this.settings = settings
  }

  /** What `serve` takes. */
  extras(home: string): Extras {
    return {
      home,
      settings: this.settings,
      prepare: async (config) => ({ config, wrap: (core) => this.over(core) }),
      following: () => (this.node === undefined ? undefined : this),
    }
  }

  private async over(core: Core): Promise<Core> {
    const chainId = Number(await readJson(core, 'chainId', undefined))
    const genesisHash = core.follow?.state().genesisHash
    this.node = followNode(core, { chainId, genesisHash }, optionsOf(this.settings), this.events())
    return this.node.core
  }

  private events(): FollowEvents {
    const { counts } = this
    return {
      followed: (verified) => this.meter.count('followedBlocks', verified),
      hole: () => this.meter.count('followedBlocks', 'hole'),
      refused: (field) => this.meter.count('followRefused', fieldOf(field)),
      reorg: (blocks) => {
        counts.reorged += blocks
      },
      filled: (rounds) => {
        counts.rounds += rounds
      },
      received: (bytes) => {
        counts.bytes += bytes
      },
      log: (level, message, fields) => this.log?.component('follow')[level](message, fields),
    }
  }

  get submission(): Following['submission'] {
    return this.node?.submission ?? 'refused'
  }

  get upstream(): string {
    return this.settings['follow.upstream_urls'].map(shownUrl).join(', ')
  }

  get transactions(): string {
    return this.settings['follow.redirect'] ? `sent to ${this.upstream}` : 'refused (follow.redirect is false)'
  }

  get blocks(): string {
    return `${FOLLOWED_BLOCKS}, ${this.upstream}`
  }

  check = (): string | undefined => this.node?.reason()

  start(metrics: NodeMetrics, log: Log): void {
    this.meter = metrics.meter
    this.log = log
    metrics.watch(async () => this.sample())
    this.node?.start()
  }

  private sample(): Watching {
    const sample = this.node?.sample()
    const { reorged, rounds, bytes } = this.counts
    return {
      followReorged: reorged,
      followFillRounds: rounds,
      followWitnessBytes: bytes,
      followUpstreamHead: sample?.upstreamHead,
      followLag: sample?.lag,
      followHoles: sample?.holes,
      followUpstreams: sample?.upstreamsReached,
    }
  }

  async stop(): Promise<void> {
    const { node } = this
    this.node = undefined
    await node?.stop()
  }
}
