// Whether an origin proves what it says of its state (eth_getProof, EIP-1186). The core verifies
// the proofs; here is what becomes of requests for them.
import { provesAccount } from '../core/origin.ts'
import { UpstreamError } from '../upstream/error.ts'

/** `auto`: state is verified where the origin gives proofs; `on`: it is not used without. */
export type Verify = 'auto' | 'on' | 'off'

/** The method that gives proofs. */
export const PROOF_METHOD = 'eth_getProof'

/** Sends a request for proofs. */
type Send = (params: readonly unknown[]) => Promise<unknown>

/** What is looked at of a block. */
interface Provable {
  readonly number: string
  readonly stateRoot?: unknown
  readonly miner?: unknown
}

const ZERO_ADDRESS = `0x${'00'.repeat(20)}`

/** The proofs of one origin, until it gives none. */
export class Proofs {
  private readonly verify: Verify
  /** Called once, with the reason. */
  private readonly onNone: (why: string) => void
  private areNone: boolean

  constructor(verify: Verify, onNone: (why: string) => void) {
    this.verify = verify
    this.onNone = onNone
    this.areNone = verify === 'off'
  }

  /** What the core has to do. */
  get mode(): Verify {
    return this.areNone ? 'off' : this.verify
  }

  /**
   * Tries a proof of an account of a block. An origin may refuse the method, have no state that
   * old, or be a fork itself, whose state roots cover its own changes alone.
   */
  async probe({ number, stateRoot, miner }: Provable, send: Send): Promise<void> {
    if (this.areNone) return
    const address = typeof miner === 'string' ? miner : ZERO_ADDRESS
    const proof = await this.orNone(() => send([address, [], number]))
    if (this.areNone || provesAccount(String(stateRoot), address, proof)) return
    const why = 'its proofs do not fit the state root of the block'
    if (this.verify === 'on') throw new Error(why)
    this.end(why)
  }

  /** A proof; `null` where the origin gives none and need not. */
  async of(send: Send, params: readonly unknown[]): Promise<unknown> {
    return this.areNone ? null : await this.orNone(() => send(params))
  }

  private async orNone(send: () => Promise<unknown>): Promise<unknown> {
    try {
      const proof = await send()
      if (proof === null) this.end('it answers eth_getProof with null')
      return proof
    } catch (e) {
      if (this.verify === 'on' || !(e instanceof UpstreamError)) throw e
      this.end(e.message)
      return null
    }
  }

  private end(why: string): void {
    if (this.verify === 'on') return
    if (!this.areNone) this.onNone(why)
    this.areNone = true
  }
}
