// Several upstreams: which of them is followed, and which answers a request of a client.
import { setTimeout as sleep } from 'node:timers/promises'
import type { BlockId } from '../core/follow.ts'
import { UpstreamBusy } from '../upstream/client.ts'
import { UpstreamError } from '../upstream/error.ts'
import type { Header, Upstream } from './upstream.ts'

/** Blocks that an upstream may be behind another one and still be the one that is followed. */
const BEHIND_MAX = 3

/** An upstream with its newest block. */
export interface Reached {
  readonly upstream: Upstream
  readonly head: Header
}

/** No upstream answers at the moment; the message says why of each. */
export class NoUpstream extends Error {
  override name = 'NoUpstream'
}

/** What nodes answer where they do not know a block that is named by its hash. */
const UNKNOWN_BLOCK = /not found|unknown (block|header)|missing trie node|not available|pruned|could not find/i

/** The nodes that may be followed, in the order of the settings. */
export class Upstreams {
  readonly all: readonly Upstream[]

  /** Whether one was reached, or each was tried. */
  private isContacted = false
  private readonly contact: Promise<void>

  constructor(all: readonly Upstream[]) {
    this.all = all
    this.contact = new Promise((resolve) => {
      const each = all.map(async ({ firstContact }) => {
        if (await firstContact) resolve()
      })
      void Promise.all(each).then(() => resolve())
    })
    void this.contact.then(() => {
      this.isContacted = true
    })
  }

  /**
   * Resolves once an upstream was reached or each was tried, so that a request at the start does
   * not fail because it came first; at the latest after so many milliseconds.
   */
  async contacted(waitMs: number): Promise<void> {
    if (this.isContacted) return
    const timer = new AbortController()
    await Promise.race([this.contact, sleep(waitMs, undefined, { signal: timer.signal, ref: false }).catch(() => undefined)])
    timer.abort()
  }

  get reached(): readonly Reached[] {
    return this.all.flatMap((upstream) => (upstream.head === undefined ? [] : [{ upstream, head: upstream.head }]))
  }

  /** Number of the newest block that any of them has. */
  get highest(): number | undefined {
    const { reached } = this
    return reached.length === 0 ? undefined : Math.max(...reached.map(({ head }) => head.number))
  }

  /** The one that is followed: the first that is not far behind another one. */
  get best(): Reached | undefined {
    const { highest } = this
    return this.reached.find(({ head }) => head.number + BEHIND_MAX >= (highest ?? 0))
  }

  /** Why none of them can be followed. */
  get failure(): string | undefined {
    if (this.reached.length > 0) return undefined
    return this.all.map(({ shown, failure }) => `${shown}: ${failure ?? 'no answer'}`).join('; ')
  }

  /**
   * Those that may answer about our head, the best first. None is left out: one that has just
   * failed may answer again.
   */
  private order({ number }: BlockId): readonly Upstream[] {
    const has = this.all.filter(({ head }) => head !== undefined && head.number >= number)
    return [...has, ...this.all.filter((upstream) => upstream.head !== undefined && !has.includes(upstream))]
  }

  /**
   * The bytes of the result of a read: of the first upstream that answers, and that knows the
   * block that the request names. Rejects with the last one's error.
   */
  async read(head: BlockId, method: string, params: readonly unknown[]): Promise<Buffer> {
    let last: Error = new NoUpstream(`no upstream answers: ${this.failure ?? 'none has our head'}`)
    for (const upstream of this.order(head)) {
      try {
        return await upstream.client.read(method, params)
      } catch (e) {
        if (e instanceof UpstreamError ? !UNKNOWN_BLOCK.test(e.said) : e instanceof UpstreamBusy) throw e
        last = e as Error
      }
    }
    throw last
  }

  close(): void {
    for (const upstream of this.all) upstream.close()
  }
}
