// One block on its way into the core: its bytes, what proves it by the first source that can, and
// what the core wants beyond that.
import type { BlockForm, FollowAnswer, SourceName } from '../core/follow.ts'
import { isPassing, UpstreamError } from '../upstream/error.ts'
import { Extra, TooMuchWanted } from './extra.ts'
import { fill } from './fill.ts'
import type { FollowerParts } from './follower.ts'
import type { Fetched } from './prefetch.ts'
import { type Gathered, type Source, usableSources } from './sources.ts'
import { type Header, Lacking, type Upstream } from './upstream.ts'
import { BadAnswer } from './values.ts'

/** Attempts of one block with what was wanted after the one before. */
const ROUNDS_MAX = 8

/**
 * Turns in which the sources of a block may fail before it is kept as a hole: a node behind a load
 * balancer may have it soon.
 */
const TURNS_BEFORE_HOLE = 3

/** Fields of refusals that blame what proves a block, and not the block. */
const PROOF_FIELDS: ReadonlySet<string> = new Set(['witness', 'too_large'])

/** A block that the core refuses: its rules are others than ours, or an upstream lies. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly field: string

  constructor(block: Header, upstream: Upstream, field: string, reason: string) {
    super(`block ${block.number} (${block.hash}) of ${upstream.shown} is refused: ${field}: ${reason}`)
    this.field = field
  }
}

/** A block whose parent left the chain meanwhile. */
export class Moved extends Error {
  override name = 'Moved'
}

/** A block with what its first source gathered. */
export interface FetchedBlock extends Fetched {
  readonly form: BlockForm
  readonly block: Buffer
  /** The sources that were tried, up to the first one that has something. */
  readonly tried: readonly Tried[]
}

/** What a source gathered, or why it has nothing. */
interface Tried {
  readonly source: Source
  readonly gathered: Gathered | Error
}

/** Whether a failure says that a source has not what a block needs, and will not have it soon. */
const isLacking = (e: unknown): e is Error =>
  e instanceof Lacking || e instanceof BadAnswer || e instanceof TooMuchWanted || (e instanceof UpstreamError && !isPassing(e.code))

/** Puts blocks into the core. */
export class Inserter {
  private readonly parts: FollowerParts
  /** The block whose sources failed last, and in how many turns. */
  private lacking = { hash: '', turns: 0 }
  /** Which source of which upstream served the last block. */
  private lastSource: string | undefined

  constructor(parts: FollowerParts) {
    this.parts = parts
  }

  /** The sources that may serve a block now. */
  private sources(upstream: Upstream, block: Header): readonly Source[] {
    const { abilities } = upstream
    if (abilities === undefined) throw new Lacking(`${upstream.shown} does not answer`)
    const isTip = upstream.head?.hash === block.hash
    return usableSources(abilities, this.parts.options).filter((source) => source.mayServe(abilities, isTip))
  }

  /** Fetches a block, and what the first source has for it that has anything. */
  async fetch(upstream: Upstream, block: Header): Promise<FetchedBlock> {
    const [{ form, bytes }, tried] = await Promise.all([upstream.block(block.hash), this.gatherFirst(upstream, block)])
    const gathered = tried.at(-1)?.gathered
    const size = gathered === undefined || gathered instanceof Error ? 0 : (gathered.witness?.length ?? 0)
    if (size > 0) this.parts.events.received(size)
    return { form, block: bytes, bytes: bytes.length + size, tried }
  }

  private async gatherFirst(upstream: Upstream, block: Header): Promise<readonly Tried[]> {
    const tried: Tried[] = []
    for (const source of this.sources(upstream, block)) {
      const gathered = await this.gather(source, upstream, block)
      tried.push({ source, gathered })
      if (!(gathered instanceof Error)) break
    }
    return tried
  }

  /** What a source has, or why it has nothing; other failures reject. */
  private async gather(source: Source, upstream: Upstream, block: Header): Promise<Gathered | Error> {
    try {
      return await source.gather(upstream, block)
    } catch (e) {
      if (isLacking(e)) return e
      throw e
    }
  }

  /**
   * Puts a block into the core by the first source that can, of any upstream; as a hole where none
   * can. Rejects with `Refusal`, with `Moved`, or with why an upstream gave no answer.
   */
  async insert(upstream: Upstream, block: Header, fetched: FetchedBlock): Promise<void> {
    const begun = performance.now()
    const failures: string[] = []
    let refusal: Refusal | undefined
    let silence: unknown
    const others = this.parts.upstreams.reached.map((reached) => reached.upstream).filter((other) => other !== upstream)
    for (const each of [upstream, ...others]) {
      /** Another upstream may have what this one does not answer. */
      const silent = (e: unknown): Error => {
        if (each === upstream || !(e instanceof Error)) throw e
        silence ??= e
        return e
      }
      // One that was lost meanwhile is no other one any more.
      if (each !== upstream && each.abilities === undefined) continue
      for (const source of this.sources(each, block)) {
        const before = each === upstream ? fetched.tried.find((tried) => tried.source === source) : undefined
        const gathered = before?.gathered ?? (await this.gather(source, each, block).catch(silent))
        const answer = gathered instanceof Error ? gathered : await this.attempt(source, each, block, fetched, gathered, silent)
        if (answer instanceof Refusal) {
          refusal = answer
          this.parts.events.refused(answer.field)
          if (!PROOF_FIELDS.has(answer.field)) break
        } else if (answer instanceof Error) failures.push(`${source.name} of ${each.shown}: ${answer.message}`)
        else {
          this.noteSource(source, each, block, failures)
          return this.took(block, answer, performance.now() - begun)
        }
      }
    }
    if (refusal !== undefined) throw refusal
    if (silence !== undefined) throw silence
    if (failures.length > 0 && this.mayPass(block)) throw new Lacking(`block ${block.number}: ${failures.join('; ')}`)
    await this.asHole(upstream, block, fetched, failures)
  }

  /** Logs when another source serves than before, and what the better ones lack. */
  private noteSource({ name }: Source, { shown }: Upstream, { number }: Header, failures: readonly string[]): void {
    const now = `${name} of ${shown}`
    if (now === this.lastSource) return
    const isChange = this.lastSource !== undefined || failures.length > 0
    this.lastSource = now
    if (!isChange) return
    const reason = failures.length === 0 ? {} : { reason: failures.join('; ') }
    this.parts.events.log('info', 'blocks come by another source', { source: name, upstream: shown, number, ...reason })
  }

  /** Whether the next turn may have more luck with a block whose sources all failed. */
  private mayPass({ hash }: Header): boolean {
    this.lacking = { hash, turns: this.lacking.hash === hash ? this.lacking.turns + 1 : 1 }
    return this.lacking.turns < TURNS_BEFORE_HOLE
  }

  /**
   * One source's attempt with its rounds; an error where it does not have enough. `silent` takes
   * why the upstream gave no answer, and throws it where no other one is tried.
   */
  private async attempt(
    source: Source,
    upstream: Upstream,
    block: Header,
    fetched: FetchedBlock,
    { witness, extra }: Gathered,
    silent: (e: unknown) => Error,
  ): Promise<FollowAnswer | Error> {
    let answer = await this.give(source.name, block, fetched, witness, extra)
    for (let round = 1; answer.status === 'wanted'; round++) {
      if (round > ROUNDS_MAX) return new Lacking(`still incomplete after ${ROUNDS_MAX} rounds`)
      try {
        const isMore = await fill(upstream, block, extra, answer, source.verified === 'proven')
        if (!isMore) return new Lacking('what the execution wants is not in its answers')
      } catch (e) {
        return isLacking(e) ? e : silent(e)
      }
      this.parts.events.filled(1)
      answer = await this.give(source.name, block, fetched, witness, extra)
    }
    if (answer.status === 'unknownParent') throw new Moved(`the parent of block ${block.number} left the chain`)
    return answer.status === 'refused' ? new Refusal(block, upstream, answer.field, answer.reason) : answer
  }

  private give(
    source: SourceName,
    { hash }: Header,
    { form, block }: FetchedBlock,
    witness: Buffer | undefined,
    extra: Extra,
  ): Promise<FollowAnswer> {
    return this.parts.port.block({ hash, form, source, reorgBlocks: this.parts.options.reorgBlocks }, block, witness, extra.bytes())
  }

  private took(block: Header, answer: FollowAnswer, ms: number): void {
    const { events } = this.parts
    if (answer.status === 'hole') {
      events.hole(block.number, answer.reason)
      events.log('warn', 'a block is a hole: it is served by the upstream', {
        number: block.number,
        hash: block.hash,
        reason: answer.reason,
      })
    }
    if (answer.status !== 'followed') return
    events.followed(answer.verified, ms)
    if (answer.removed > 0) {
      events.reorg(answer.removed)
      events.log('info', 'blocks left the chain', { blocks: answer.removed, number: block.number, hash: block.hash })
    }
  }

  /** Keeps a block that no source serves, without its traces. */
  private async asHole(upstream: Upstream, block: Header, fetched: FetchedBlock, failures: readonly string[]): Promise<void> {
    const answer = await this.give('none', block, fetched, undefined, new Extra())
    if (answer.status === 'unknownParent') throw new Moved(`the parent of block ${block.number} left the chain`)
    if (answer.status === 'refused') {
      this.parts.events.refused(answer.field)
      throw new Refusal(block, upstream, answer.field, answer.reason)
    }
    const reason = failures.length === 0 ? 'no source may be used for it' : failures.join('; ')
    this.took(block, answer.status === 'hole' ? { ...answer, reason } : answer, 0)
  }
}
