// The newest block as it comes: by WebSocket, or by polling where none can be had.
import { signal } from '@preact/signals'
import type { Header } from './chain.ts'
import { hasToken, RpcFailure, rpc, tokenGiven } from './rpc.ts'

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

/**
 * Time between two polls beside a WebSocket, in milliseconds. A head that goes back without a new
 * block, as after evm_revert, is notified to no subscription.
 */
const CHECK_MS = 1500

let timer: number | undefined

/** Whether the node notifies of new blocks by WebSocket. */
let subscribed = false

/** Headers that came by WebSocket. */
let notified = 0

function take(header: Header): void {
  if (header.hash !== head.value?.hash) head.value = header
}

/** Polls so far, and the newest one that has its answer. */
let polls = 0
let answered = 0

async function poll(): Promise<void> {
  const before = notified
  const mine = ++polls
  try {
    const header = await rpc<Header>('eth_getBlockByNumber', ['latest', false])
    // The answer may be older than what was notified meanwhile, or than that of a later poll.
    if (notified === before && mine > answered) {
      take(header)
      answered = mine
    }
    live.value = subscribed ? 'live' : 'polling'
  } catch (e) {
    live.value = 'away'
    // The page shows a form for a token; until another is given, requests would only be refused.
    if (e instanceof RpcFailure && e.status === 401) stopPolling()
  }
}

function startPolling(everyMs: number): void {
  stopPolling()
  timer = window.setInterval(() => document.visibilityState === 'visible' && void poll(), everyMs)
  void poll()
}

function stopPolling(): void {
  window.clearInterval(timer)
  timer = undefined
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
    startPolling(POLL_MS)
    return
  }
  let socket: WebSocket
  try {
    socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`)
  } catch {
    startPolling(POLL_MS)
    return
  }
  socket.onopen = () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }))
  socket.onmessage = ({ data }) => {
    const said = JSON.parse(String(data)) as Notification
    if (said.params !== undefined) {
      notified++
      take(said.params.result)
    } else if (said.error !== undefined) socket.close()
    else if (said.id === 1) {
      subscribed = true
      live.value = 'live'
      startPolling(CHECK_MS)
    }
  }
  socket.onclose = () => {
    subscribed = false
    if (live.value === 'live') live.value = 'connecting'
    startPolling(POLL_MS)
    window.setTimeout(connect, RECONNECT_MS)
  }
}

/** Begins to listen. */
export function listen(): void {
  connect()
  tokenGiven.subscribe((given) => given > 0 && startPolling(POLL_MS))
}
