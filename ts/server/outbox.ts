// Notifications that wait for a connection, within bounds even for a slow client.

/** What a connection may have waiting. */
export interface OutboxLimits {
  readonly notifications: number
  readonly bytes: number
}

/** Counts what waits; one that does not fit ends the connection. */
export class Outbox {
  private readonly limits: OutboxLimits
  private readonly send: (notification: Uint8Array) => Promise<void>
  private readonly overflow: (missed: number) => void
  private waiting = 0
  private bytes = 0
  private over = false

  /**
   * `send` resolves when a notification has left; `overflow` is called once with the number of
   * those that will never be sent.
   */
  constructor(limits: OutboxLimits, send: (notification: Uint8Array) => Promise<void>, overflow: (missed: number) => void) {
    this.limits = limits
    this.send = send
    this.overflow = overflow
  }

  /** Sends a notification behind those that wait. */
  push(notification: Uint8Array): void {
    if (this.over) return
    if (this.waiting >= this.limits.notifications || this.bytes + notification.length > this.limits.bytes) {
      this.end(1)
      return
    }
    this.waiting++
    this.bytes += notification.length
    this.send(notification)
      .catch(() => undefined)
      .finally(() => {
        this.waiting--
        this.bytes -= notification.length
      })
  }

  /** So many more will never come, and those that wait will not be sent either. */
  end(missed: number): void {
    if (this.over) return
    this.over = true
    this.overflow(this.waiting + missed)
  }

  /** Whether nothing is sent any more. */
  get isOver(): boolean {
    return this.over
  }
}
