// The client of one message, as a transport knows it.
import type { Barred, Client } from '../rpc/client.ts'
import type { Connection } from '../rpc/meter.ts'
import type { Subscriber } from '../rpc/subscription.ts'

/** Counts requests: 0 if they are let in, else the milliseconds until they may come again. */
export type Admit = (requests: number) => number

/** What a transport knows of a message beside its text. */
export interface MessageFacts {
  readonly gzipOver?: number | undefined
  readonly barred?: Barred | undefined
  readonly forwarded?: boolean
  readonly subscriber?: Subscriber | undefined
}

/** Remembers what is to be done when the client goes. */
export class WaitingClient implements Client {
  readonly connection: Connection
  /** Whose the message is, by address. */
  readonly address: string
  readonly admit: Admit
  readonly gzipOver: number | undefined
  readonly barred: Barred | undefined
  readonly forwarded: boolean
  readonly subscriber: Subscriber | undefined
  readonly takesWarnings = true
  private gone = false
  /** Made with the first: most requests have none. */
  private callbacks: (() => void)[] | undefined

  constructor(connection: Connection, address: string, admit: Admit, { gzipOver, barred, forwarded, subscriber }: MessageFacts = {}) {
    this.connection = connection
    this.address = address
    this.admit = admit
    this.gzipOver = gzipOver
    this.barred = barred
    this.forwarded = forwarded === true
    this.subscriber = subscriber
  }

  onGone(callback: () => void): void {
    if (this.gone) callback()
    else if (this.callbacks === undefined) this.callbacks = [callback]
    else this.callbacks.push(callback)
  }

  /** To be called when the client has gone, or has its answer. */
  leave(): void {
    this.gone = true
    const { callbacks = [] } = this
    this.callbacks = undefined
    for (const callback of callbacks) callback()
  }
}
