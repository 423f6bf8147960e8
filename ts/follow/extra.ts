// What was fetched for a block beside its witness, and what of it was requested already.
import type { AccountSlots } from '../core/follow.ts'

/** An account with values that nothing proves. */
export interface PrestateAccount {
  balance: string
  nonce: string
  code: string
  storage: Record<string, string>
}

/** What goes to the core beside a witness. */
interface ExtraJson {
  readonly proofs: readonly unknown[]
  readonly after: readonly unknown[]
  readonly codes: readonly string[]
  readonly headers: readonly string[]
  readonly prestate?: Readonly<Record<string, PrestateAccount>>
}

/** Most accounts, slots, codes and headers that are fetched for one block. */
const ITEMS_MAX = 200_000

/** More is wanted for a block than may be fetched. */
export class TooMuchWanted extends Error {
  override name = 'TooMuchWanted'
}

/** What was fetched for one block. */
export class Extra {
  readonly proofs: unknown[] = []
  readonly after: unknown[] = []
  readonly codes = new Set<string>()
  readonly headers: string[] = []
  readonly prestate = new Map<string, PrestateAccount>()
  private readonly asked = new Set<string>()

  /** Whether something is requested for the first time. */
  isNew(what: string): boolean {
    if (this.asked.has(what)) return false
    if (this.asked.size >= ITEMS_MAX) throw new TooMuchWanted(`more than ${ITEMS_MAX} values are wanted for one block`)
    this.asked.add(what)
    return true
  }

  /** Those of accounts and slots that were not requested before. */
  unasked(kind: string, wanted: readonly AccountSlots[]): AccountSlots[] {
    const found: AccountSlots[] = []
    for (const { address, slots } of wanted) {
      const isAccountNew = this.isNew(`${kind} ${address}`)
      const newSlots = slots.filter((slot) => this.isNew(`${kind} ${address} ${slot}`))
      if (isAccountNew || newSlots.length > 0) found.push({ address, slots: newSlots })
    }
    return found
  }

  get isEmpty(): boolean {
    const { proofs, after, codes, headers, prestate } = this
    return proofs.length + after.length + codes.size + headers.length + prestate.size === 0
  }

  /** The bytes for the core; undefined where nothing was fetched. */
  bytes(): Buffer | undefined {
    if (this.isEmpty) return undefined
    const { proofs, after, codes, headers, prestate } = this
    const json: ExtraJson = {
      proofs,
      after,
      codes: [...codes],
      headers,
      ...(prestate.size === 0 ? {} : { prestate: Object.fromEntries(prestate) }),
    }
    return Buffer.from(JSON.stringify(json))
  }
}
