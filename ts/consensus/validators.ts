// The validators of the network, as CometBFT says them.
import { engineResult, type StatusAnswer, type ValidatorsAnswer } from './rpc.ts'

/** Validators and this node's own consensus address, in lower-case hex. */
export interface Validators {
  readonly own: string
  readonly addresses: readonly string[]
}

/** Most entries of one page of /validators. */
const PAGE = 100

/** How old a set may be before it is requested again, in milliseconds. */
const SET_MS_MAX = 1000

/** Requests the validators of the newest height. Rejects with `EngineRpcError`. */
export async function fetchValidators(url: string): Promise<Validators> {
  const status = await engineResult<StatusAnswer>(url, 'status')
  const addresses: string[] = []
  for (let page = 1; ; page++) {
    const answer = await engineResult<ValidatorsAnswer>(url, `validators?per_page=${PAGE}&page=${page}`)
    addresses.push(...answer.validators.map(({ address }) => address.toLowerCase()))
    if (answer.validators.length < PAGE || addresses.length >= Number(answer.total)) break
  }
  return { own: status.validator_info.address.toLowerCase(), addresses }
}

/** The known set, refreshed in the background: a request never waits for it. */
export class ValidatorSets {
  private readonly ask: () => Promise<Validators>
  private readonly now: () => number
  private known: Validators | undefined
  private askedAt = Number.NEGATIVE_INFINITY
  private isAsking = false

  constructor(ask: () => Promise<Validators>, now: () => number = () => performance.now()) {
    this.ask = ask
    this.now = now
  }

  /** The set, the same object as long as it does not change; undefined before its first answer. */
  get(): Validators | undefined {
    if (!this.isAsking && this.now() - this.askedAt >= SET_MS_MAX) void this.refresh()
    return this.known
  }

  /** Requests it now. A failure leaves the known set. */
  async refresh(): Promise<void> {
    this.isAsking = true
    this.askedAt = this.now()
    try {
      const set = await this.ask()
      if (JSON.stringify(set) !== JSON.stringify(this.known)) this.known = set
    } catch {
      // CometBFT starts, or has stopped: the supervisor says so.
    } finally {
      this.isAsking = false
    }
  }
}
