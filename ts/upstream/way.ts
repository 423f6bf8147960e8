// Whether the core or an upstream answers an operation.
import type { Body } from '../core/body.ts'
import { openResult, spliced } from '../core/chunks.ts'
import { CoreError, type CoreErrorKind } from '../core/error.ts'
import type { BlockRef, OpenOptions, ResultStream } from '../core/port.ts'

/** Kinds of failure that say that something is not here. */
const MISSING: ReadonlySet<CoreErrorKind> = new Set([
  'block_not_found',
  'evm_not_supported',
  'header_not_found',
  'transaction_not_found',
  'unknown_block',
])

/** Whether an error says that something is not here. */
export const isMissing = (e: unknown): boolean => e instanceof CoreError && MISSING.has(e.kind)

/** Whether bytes are the JSON of `null`. */
export const isNull = (bytes: Uint8Array): boolean => bytes.length === 4 && bytes[0] === 0x6e

/**
 * Where an operation goes: to the upstream about this block; to the core first; or to the core
 * alone.
 */
export type Way = { readonly elsewhere: BlockRef } | 'core first' | 'core'

/** A trace that is the core's, or the upstream's where it is not here. */
export class ElsewhereStream implements ResultStream {
  private readonly here: ResultStream
  private readonly way: () => Promise<Way>
  private readonly there: (block: BlockRef) => Promise<Uint8Array>
  private readonly given: () => BlockRef
  private readonly isLacking: (e: unknown) => boolean
  private began = false
  private over = false

  /** `isLacking`: whether an error of the core says that the upstream may have an answer. */
  constructor(
    here: ResultStream,
    way: () => Promise<Way>,
    there: (block: BlockRef) => Promise<Uint8Array>,
    given: () => BlockRef,
    isLacking: (e: unknown) => boolean = isMissing,
  ) {
    this.here = here
    this.way = way
    this.there = there
    this.given = given
    this.isLacking = isLacking
  }

  async open(options: OpenOptions): Promise<Body> {
    return await this.begin(
      async () => await openResult(this.here, options),
      (bytes) => ({ kind: 'bytes', bytes: spliced(options, bytes) }),
    )
  }

  async next(): Promise<Uint8Array | null> {
    if (this.over) return null
    if (this.began) return await this.here.next()
    return await this.begin(
      () => this.here.next(),
      (bytes) => bytes,
    )
  }

  /** What `here` gives, or the upstream's answer. */
  private async begin<T>(here: () => Promise<T>, there: (bytes: Uint8Array) => T): Promise<T> {
    this.began = true
    const way = await this.way()
    if (typeof way === 'object') return there(await this.fromElsewhere(way.elsewhere))
    try {
      return await here()
    } catch (e) {
      if (way === 'core' || !this.isLacking(e)) throw e
      return there(await this.fromElsewhere(this.given()))
    }
  }

  private async fromElsewhere(block: BlockRef): Promise<Uint8Array> {
    this.over = true
    this.here.cancel()
    return await this.there(block)
  }

  cancel(): void {
    this.over = true
    this.here.cancel()
  }
}
