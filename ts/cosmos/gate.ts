// What both listeners check before a query: the client's token, and its share of the rate.
import type { IncomingMessage } from 'node:http'
import type { Settings } from '../config/index.ts'
import { type Authentication, authentication } from '../server/admission/auth.ts'
import { Admission } from '../server/admission/index.ts'
import { CODES, QueryFailure } from './failure.ts'
import type { CosmosListener } from './queries.ts'

/** Lets requests in. */
export class Gate {
  readonly admission: Admission
  private readonly authentication: Authentication | undefined

  /** Throws `AuthFileError`. */
  constructor(settings: Settings, listener: CosmosListener, runToken: string | undefined) {
    this.admission = new Admission(settings)
    this.authentication = authentication(settings, { runToken })(listener)
  }

  /**
   * Throws `QueryFailure` where a request is not let in, or rejects with it where a JWT is
   * verified; `authorization` is the value of that header.
   */
  check(client: string, authorization: string | undefined): Promise<void> | void {
    const why = this.authentication?.refusal(authorization)
    if (why instanceof Promise) return why.then((refused) => this.admit(client, refused))
    this.admit(client, why)
  }

  private admit(client: string, why: string | undefined): void {
    if (why !== undefined) throw new QueryFailure(CODES.unauthenticated, `unauthorized: ${why}`)
    if (this.admission.admit(client, 1) > 0) throw new QueryFailure(CODES.resourceExhausted, 'too many requests')
  }

  /** The client of a request, by address. */
  clientOf(request: Pick<IncomingMessage, 'headers' | 'socket'>): string {
    return this.admission.clientOf(request)
  }
}
