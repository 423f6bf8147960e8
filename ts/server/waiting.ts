// The client of one request, as the dispatcher sees it.
import type { TraceOrigin } from '../core/port.ts'
import type { Client } from '../rpc/dispatch.ts'
import type { Connection } from '../rpc/meter.ts'
import type { Subscriber } from '../rpc/subscription.ts'

/** Remembers what to do when the client goes. */
export class WaitingClient implements Client {
  readonly connection: Connection
  readonly gzipOver: number | undefined
  origin: TraceOrigin | undefined
  /** Where the request may begin subscriptions. */
  subscriber: Subscriber | undefined
  private gone = false
  private readonly callbacks: (() => void)[] = []

  constructor(connection: Connection, gzipOver?: number) {
    this.connection = connection
    this.gzipOver = gzipOver
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
