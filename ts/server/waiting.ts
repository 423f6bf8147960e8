// The client of one request, as the dispatcher sees it.
import type { TraceOrigin } from '../core/port.ts'
import type { Client } from '../rpc/dispatch.ts'
import { WARNINGS_MAX } from '../rpc/headers.ts'
import type { Connection } from '../rpc/meter.ts'
import type { Subscriber } from '../rpc/subscription.ts'
import type { Barred } from './admission/auth.ts'

/** Counts requests: 0 where they are let in, else the milliseconds until they may come again. */
export type Admit = (requests: number) => number

/** Remembers what to do when the client goes. */
export class WaitingClient implements Client {
  readonly connection: Connection
  /** Whose the request is, by address. */
  readonly address: string
  readonly gzipOver: number | undefined
  /** Milliseconds until a request that was not let in may come again. */
  retryAfterMs: number | undefined
  origin: TraceOrigin | undefined
  waitedMs: number | undefined
  /** What this client may not ask for; undefined: nothing. */
  barred: Barred | undefined
  /** Whether a single request was refused for want of a token or JWT. */
  denied = false
  /** What is probably a mistake in the request, in words; undefined where nothing is. */
  warnings: string[] | undefined
  /** Whether another node forwarded the request. */
  forwarded = false
  /** The validator that the request went to. */
  redirectedTo: string | undefined
  /** Whether a method of the namespace `chain` was called. */
  usedLegacy = false
  /** Where the request may begin subscriptions. */
  subscriber: Subscriber | undefined
  private gone = false
  private readonly callbacks: (() => void)[] = []

  private readonly admission: Admit

  constructor(connection: Connection, address: string, admission: Admit, gzipOver?: number) {
    this.connection = connection
    this.address = address
    this.admission = admission
    this.gzipOver = gzipOver
  }

  admit(requests: number): boolean {
    const waitMs = this.admission(requests)
    if (waitMs > 0) this.retryAfterMs = waitMs
    return waitMs === 0
  }

  warn(warning: string): void {
    this.warnings ??= []
    if (this.warnings.length < WARNINGS_MAX) this.warnings.push(warning)
  }

  onGone(callback: () => void): void {
    if (this.gone) callback()
    else this.callbacks.push(callback)
  }

  /** To be called when the client has gone, or has its answer. */
  leave(): void {
    this.gone = true
    for (const callback of this.callbacks.splice(0)) callback()
  }
}
