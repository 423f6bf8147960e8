// The newest block of an upstream: by subscription where it has a WebSocket, and always by polling.
import type { WebSocket as Socket } from 'ws'
import { foreignText } from '../peers/words.ts'
import { abilitiesOf } from './abilities.ts'
import { type Header, headerOf, type Upstream } from './upstream.ts'

/** Longest time for an answer to a poll, in milliseconds; longer where polls are further apart. */
const POLL_ANSWER_MS = 5_000

/** Wait before a WebSocket is opened again, in milliseconds. */
const RECONNECT_MS = 2_000

/** Largest message of a subscription, in bytes. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024

/** Options of watching. */
export interface WatchOptions {
  readonly upstream: Upstream
  /** The WebSocket of the same node; undefined where there is none. */
  readonly wsUrl: string | undefined
  readonly pollMs: number
  /** Checks a node when it is reached, and again after each failure; throws why it is refused. */
  readonly check: (upstream: Upstream) => Promise<void>
  /** A new head, or a change of whether there is one. */
  readonly onChange: () => void
}

/** Keeps `head` and `failure` of an upstream up to date. */
export class HeadWatch {
  private readonly options: WatchOptions
  private closed = false
  private timer: NodeJS.Timeout | undefined
  private socket: Socket | undefined
  private reopening: NodeJS.Timeout | undefined

  constructor(options: WatchOptions) {
    this.options = options
  }

  start(): void {
    void this.poll()
    void this.subscribe()
  }

  stop(): void {
    this.closed = true
    clearTimeout(this.timer)
    clearTimeout(this.reopening)
    this.socket?.terminate()
  }

  private async poll(): Promise<void> {
    const { upstream, pollMs } = this.options
    const begun = performance.now()
    try {
      if (upstream.abilities === undefined) await this.reach()
      const head = await upstream.headerAt('latest', Math.min(upstream.timeoutMs, Math.max(POLL_ANSWER_MS, pollMs)))
      if (head !== undefined) this.moved(head)
    } catch (e) {
      this.lost(e)
    }
    if (this.closed) return
    const waitMs = Math.max(0, pollMs - (performance.now() - begun))
    this.timer = setTimeout(() => void this.poll(), waitMs)
  }

  /** Finds out what a node can do, and whether it may be followed. */
  private async reach(): Promise<void> {
    const { upstream, check } = this.options
    upstream.abilities = await abilitiesOf(upstream)
    try {
      await check(upstream)
    } catch (e) {
      upstream.abilities = undefined
      throw e
    }
  }

  private moved(head: Header): void {
    const { upstream, onChange } = this.options
    const isChanged = upstream.head?.hash !== head.hash
    upstream.head = head
    upstream.failure = undefined
    upstream.contacted(true)
    if (isChanged) onChange()
  }

  /** The node may be another one when it answers again. */
  private lost(e: unknown): void {
    const { upstream, onChange } = this.options
    const failure = foreignText(e instanceof Error ? e.message : String(e))
    const isChanged = upstream.head !== undefined || upstream.failure !== failure
    upstream.head = undefined
    upstream.abilities = undefined
    upstream.failure = failure
    upstream.contacted(false)
    if (isChanged && !this.closed) onChange()
  }

  private async subscribe(): Promise<void> {
    const { wsUrl } = this.options
    if (wsUrl === undefined) return
    const { WebSocket } = await import('ws')
    if (this.closed) return
    const socket = new WebSocket(wsUrl, { maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false })
    this.socket = socket
    socket.once('open', () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] })))
    socket.on('message', (data) => this.notified(String(data)))
    // Polling continues, and says what is wrong with the node.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      if (!this.closed) this.reopening = setTimeout(() => void this.subscribe(), RECONNECT_MS)
    })
  }

  private notified(text: string): void {
    // Only a node that was checked is believed.
    if (this.options.upstream.abilities === undefined || this.closed) return
    try {
      const message = JSON.parse(text) as { method?: unknown; params?: { result?: unknown } }
      if (message.method === 'eth_subscription') this.moved(headerOf(message.params?.result))
    } catch {
      this.socket?.terminate()
    }
  }
}
