// The newest block as it comes: by WebSocket, or by polling where none can be had.
import { signal } from '@preact/signals'
import type { Header } from './chain.ts'
import { hasToken, RpcFailure, rpc } from './rpc.ts'

/** How the page hears of blocks: `away` where the node does not answer. */
export type LiveState = 'connecting' | 'live' | 'polling' | 'away'

export const live = signal<LiveState>('connecting')

/** The newest block that was heard of. */
export const head = signal<Header | undefined>(undefined)

/**
 * Time between two polls where there is no WebSocket, and between two attempts to open one, in
 * milliseconds.
 */
const POLL_MS = 700
const RECONNECT_MS = 5000

let polling: number | undefined

function take(header: Header): void {
  if (header.hash !== head.value?.hash) head.value = header
}

async function poll(): Promise<void> {
  try {
    take(await rpc<Header>('eth_getBlockByNumber', ['latest', false]))
    if (live.value !== 'live') live.value = 'polling'
  } catch (e) {
    live.value = 'away'
    // The page shows a form for a token; more requests would only be refused.
    if (e instanceof RpcFailure && e.status === 401 && !hasToken()) return
  }
}

function startPolling(): void {
  if (polling !== undefined) return
  void poll()
  polling = window.setInterval(() => document.visibilityState === 'visible' && void poll(), POLL_MS)
}

function stopPolling(): void {
  window.clearInterval(polling)
  polling = undefined
}

interface Notification {
  readonly id?: number
  readonly result?: unknown
  readonly error?: unknown
  readonly params?: { readonly result: Header }
}

function connect(): void {
  // A browser cannot send a token with a WebSocket.
  if (hasToken()) {
    startPolling()
    return
  }
  let socket: WebSocket
  try {
    socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`)
  } catch {
    startPolling()
    return
  }
  socket.onopen = () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }))
  socket.onmessage = ({ data }) => {
    const said = JSON.parse(String(data)) as Notification
    if (said.params !== undefined) take(said.params.result)
    else if (said.error !== undefined) socket.close()
    else if (said.id === 1) {
      stopPolling()
      void poll().then(() => {
        live.value = 'live'
      })
    }
  }
  socket.onclose = () => {
    if (live.value === 'live') live.value = 'connecting'
    startPolling()
    window.setTimeout(connect, RECONNECT_MS)
  }
}

/** Begins to listen. */
export function listen(): void {
  connect()
}
