// The client of one message, as the transport sees it.
import type { Client, DeniedNamespaces } from '../rpc/client.ts'
import type { Connection } from '../rpc/meter.ts'
import type { Subscriber } from '../rpc/subscription.ts'

/** Counts requests: 0 if they are let in, else the milliseconds until they may come again. */
export type Admit = (requests: number) => number

/** Properties of a message that its transport provides. */
export interface MessageFacts {
  readonly gzipOver?: number | undefined
  readonly denied?: DeniedNamespaces | undefined
  readonly forwarded?: boolean
  readonly subscriber?: Subscriber | undefined
}

/** The context of a request. Keeps the callbacks for a disconnect of the client. */
export class RequestContext implements Client {
  readonly connection: Connection
  /** Address of the client. */
  readonly address: string
  readonly admit: Admit
  readonly gzipOver: number | undefined
  readonly denied: DeniedNamespaces | undefined
  readonly forwarded: boolean
  readonly subscriber: Subscriber | undefined
  readonly takesWarnings = true
  private gone = false
  /** Created with the first callback: most requests have none. */
  private callbacks: (() => void)[] | undefined

  constructor(connection: Connection, address: string, admit: Admit, { gzipOver, denied, forwarded, subscriber }: MessageFacts = {}) {
    this.connection = connection
    this.address = address
    this.admit = admit
    this.gzipOver = gzipOver
    this.denied = denied
    this.forwarded = forwarded === true
    this.subscriber = subscriber
  }

  onDisconnect(callback: () => void): void {
    if (this.gone) callback()
    else if (this.callbacks === undefined) this.callbacks = [callback]
    else this.callbacks.push(callback)
  }

  /** Must be called when the client has disconnected or the response was sent. */
  leave(): void {
    this.gone = true
    const { callbacks = [] } = this
    this.callbacks = undefined
    for (const callback of callbacks) callback()
  }
}
