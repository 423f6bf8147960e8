// Which validator the requests of a sender go to, and how they get there (`consensus.redirect`).
import type { Forward, Forwarded, ForwardFailure } from '../peers/forward.ts'

/** Methods that go to the owner of their sender; eth_getTransactionCount at `pending` alone. */
export const REDIRECTED_METHODS = ['eth_sendRawTransaction', 'eth_getTransactionCount'] as const

/** The name of one of them. */
export type RedirectedMethod = (typeof REDIRECTED_METHODS)[number]

/** Header of redirected requests: a node does not redirect them again. */
export const REDIRECTED_HEADER = 'x-hearth-redirected'

/**
 * Header of answers that came from a validator: its consensus address, or `any` for an entry
 * without one.
 */
export const REDIRECTED_TO_HEADER = 'x-hearth-redirected-to'

/** The owner of a URL without an address. */
export const ANY = 'any'

/**
 * Why a request was not answered by its owner: values of the label `reason`. `in_doubt`: the last
 * request failed just now.
 */
export const REDIRECT_FAILURES = ['busy', 'in_doubt', 'timeout', 'unreachable', 'unusable'] as const

/** One of them. */
export type RedirectFailure = (typeof REDIRECT_FAILURES)[number]

/** How long after a failure nothing more is sent to an owner, in milliseconds. */
const DOUBT_MS = 2000

/** Senders whose owner is remembered. */
const OWNERS_MAX = 10_000

/** The validators at the head; addresses are 40 lower-case hex digits. */
export interface ValidatorSet {
  /** This node's own address; it may be none of the validators. */
  readonly own: string
  readonly addresses: readonly string[]
}

/** Entries of `consensus.validator_rpc` by consensus address, `ANY` for one without. */
export const validatorUrls = (entries: readonly string[]): ReadonlyMap<string, string> =>
  new Map(
    entries.map((entry) => {
      const [, address, url] = /^(?:([0-9a-fA-F]{40})=)?(.*)$/s.exec(entry) as unknown as [string, string | undefined, string]
      return [address?.toLowerCase() ?? ANY, url]
    }),
  )

/**
 * What becomes of a request: the owner's answer, or its failure with the owner; undefined where it
 * is served here.
 */
export type Redirected =
  | { readonly owner: string; readonly answer: Exclude<Forwarded, { readonly failure: ForwardFailure }> }
  | { readonly owner: string; readonly failure: RedirectFailure }
  | undefined

/** The owner of a sender among candidates (`owner.ts`). */
export type OwnerOf = (sender: string, candidates: readonly string[]) => string | undefined

/** Counts what is sent and what fails. */
export interface RedirectMeter {
  /** Before the request is sent. */
  readonly sent: (owner: string) => void
  readonly failed: (reason: RedirectFailure) => void
}

/** Sends requests to the owners of their senders. */
export class Redirects {
  private readonly owners: ReadonlyMap<string, Forward>
  private readonly validators: () => ValidatorSet | undefined
  private readonly ownerOf: OwnerOf
  private readonly now: () => number
  private readonly failedAt = new Map<string, number>()
  private known: ValidatorSet | undefined
  /** Validators at the head that have a URL. */
  private candidates: readonly string[] = []
  private readonly remembered = new Map<string, string | undefined>()

  constructor(
    owners: ReadonlyMap<string, Forward>,
    validators: () => ValidatorSet | undefined,
    ownerOf: OwnerOf,
    now: () => number = () => performance.now(),
  ) {
    this.owners = owners
    this.validators = validators
    this.ownerOf = ownerOf
    this.now = now
  }

  /** The validators at the head; undefined before CometBFT has said them. */
  private current(): ValidatorSet | undefined {
    const set = this.validators()
    if (set !== undefined && set !== this.known) {
      this.known = set
      this.candidates = set.addresses.filter((address) => this.owners.has(address))
      this.remembered.clear()
    }
    return set
  }

  /** Whether senders have different owners: one URL alone is that of all of them. */
  get dependsOnSender(): boolean {
    return this.current() !== undefined && this.candidates.length > 1
  }

  /**
   * The owner of a sender, which is not read where owners do not depend on it; undefined where its
   * requests are served here.
   */
  ownerFor(sender: string): string | undefined {
    const set = this.current()
    if (set === undefined) return undefined
    const [only = this.owners.has(ANY) ? ANY : set.own] = this.candidates
    const owner = this.candidates.length > 1 ? this.ranked(sender) : only
    return owner === set.own ? undefined : owner
  }

  /** The owner among several candidates. */
  private ranked(sender: string): string | undefined {
    let owner = this.remembered.get(sender)
    if (owner === undefined) {
      owner = this.ownerOf(sender, this.candidates)
      if (this.remembered.size >= OWNERS_MAX) this.remembered.clear()
      this.remembered.set(sender, owner)
    }
    return owner
  }

  /** Sends a request of a sender to its owner. Never rejects. */
  async send(sender: string, method: RedirectedMethod, params: readonly unknown[], meter: RedirectMeter): Promise<Redirected> {
    const owner = this.ownerFor(sender)
    const ask = owner === undefined ? undefined : this.owners.get(owner)
    if (owner === undefined || ask === undefined) return undefined
    const failure = (reason: RedirectFailure): Redirected => {
      meter.failed(reason)
      return { owner, failure: reason }
    }
    if (this.now() - (this.failedAt.get(owner) ?? Number.NEGATIVE_INFINITY) < DOUBT_MS) return failure('in_doubt')
    meter.sent(owner)
    const answer = await ask(method, params)
    if (!('failure' in answer)) return { owner, answer }
    // A node with too many requests at a time is reachable.
    if (answer.failure !== 'busy') this.failedAt.set(owner, this.now())
    return failure(answer.failure === 'loop' ? 'unusable' : answer.failure)
  }
}

/** Failures after which the owner may have the request. */
export const mayHaveIt = (failure: RedirectFailure): boolean => failure === 'timeout' || failure === 'unusable'
