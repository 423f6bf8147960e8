// JSON-RPC to the node that served the page. It sends no other request.
import { signal } from '@preact/signals'

/** A request that failed, with what the page says of it. */
export class RpcFailure extends Error {
  override name = 'RpcFailure'
  readonly method: string
  /** Of JSON-RPC; undefined where the node gave no JSON-RPC error. */
  readonly code: number | undefined
  /** Of HTTP; 0 where the node did not answer. */
  readonly status: number

  constructor(method: string, message: string, status: number, code?: number) {
    super(message)
    this.method = method
    this.status = status
    this.code = code
  }
}

/**
 * Longest time that a refused request waits by itself before it is sent again, in milliseconds,
 * and how often.
 */
const WAIT_MS_MAX = 30_000
const RETRIES_MAX = 6

const TOKEN_KEY = 'hearth-token'

/** The token of this tab: it stands in no address and in no log. */
let token = sessionStorage.getItem(TOKEN_KEY) ?? undefined

/** Rises with each token that is given, so that what failed for want of one is requested again. */
export const tokenGiven = signal(0)

/** Requests that wait for the rate limit, and for how long at most, in milliseconds. */
export const limited = signal<number | undefined>(undefined)

export const hasToken = (): boolean => token !== undefined

export function giveToken(given: string): void {
  token = given.trim()
  sessionStorage.setItem(TOKEN_KEY, token)
  tokenGiven.value++
}

const debugPort = Number(document.querySelector('meta[name="hearth-debug-port"]')?.getAttribute('content') ?? 0)

/** Where a method is served. */
const urlOf = (method: string): string => (debugPort > 0 && method.startsWith('debug_') ? `http://${location.hostname}:${debugPort}/` : '/')

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

/** A request of ours to the node, with the token where there is one; waits out rate limits. */
export async function ask(url: string, init: RequestInit, what: string): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const headers = { ...(init.headers as Record<string, string>), ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
    let response: Response
    try {
      response = await fetch(url, { ...init, headers, credentials: 'omit' })
    } catch {
      if (init.signal?.aborted) throw init.signal.reason
      throw new RpcFailure(what, 'the node does not answer', 0)
    }
    if (response.status !== 429 || tries >= RETRIES_MAX) return response
    const waitMs = Math.min(WAIT_MS_MAX, Math.max(250, Number(response.headers.get('retry-after') ?? 1) * 1000))
    limited.value = waitMs
    try {
      await pause(waitMs, init.signal ?? undefined)
    } finally {
      limited.value = undefined
    }
  }
}

interface Answer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

let lastId = 0

/**
 * Turns a request for a call that is not mined into one that names it; set by the page for such
 * calls.
 */
export const rewriting: { request?: (method: string, params: readonly unknown[]) => [string, readonly unknown[]] } = {}

/** Calls a method. An aborted request ends the node's work on it. */
export async function rpc<T>(asked: string, given: readonly unknown[], signal?: AbortSignal): Promise<T> {
  const [method, params] = rewriting.request?.(asked, given) ?? [asked, given]
  const body = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, ...(signal === undefined ? {} : { signal }) }
  const response = await ask(urlOf(method), init, method)
  const text = await response.text()
  let answer: Answer
  try {
    answer = JSON.parse(text) as Answer
  } catch {
    throw new RpcFailure(method, text.trim().slice(0, 300) || `HTTP status ${response.status}`, response.status)
  }
  if (answer.error !== undefined) throw new RpcFailure(method, answer.error.message, response.status, answer.error.code)
  return answer.result as T
}

/** The answer, or undefined where the node refuses: for what a page can do without. */
export async function rpcOr<T>(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<T | undefined> {
  try {
    return await rpc<T>(method, params, signal)
  } catch (e) {
    if (signal?.aborted === true) throw e
    return undefined
  }
}
