// A consensus client's side of the Engine API: tokens, calls, payloads as the node builds them.
import { createHmac } from 'node:crypto'

export const ZERO = `0x${'0'.repeat(64)}`

/** An answer of JSON-RPC. */
export interface Answer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** A verdict on a payload. */
export interface Status {
  readonly status: string
  readonly latestValidHash: string | null
  readonly validationError: string | null
}

/** A payload, as far as tests look into it. */
export interface Payload {
  readonly blockHash: string
  readonly parentHash: string
  readonly stateRoot: string
  readonly timestamp: string
  readonly blockNumber: string
  readonly transactions: readonly string[]
}

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A JWT that was made so many seconds from now. */
export function token(secret: Buffer, skewS = 0): string {
  const text = `${base64({ alg: 'HS256', typ: 'JWT' })}.${base64({ iat: Math.floor(Date.now() / 1000) + skewS })}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

/** Drives the engine port of a node whose chain is of Cancun from its genesis on. */
export class ConsensusClient {
  readonly url: string
  private readonly secret: Buffer

  constructor(url: string, secret: Buffer) {
    this.url = url
    this.secret = secret
  }

  /** A request with a good token: its answer. */
  async ask(method: string, ...params: unknown[]): Promise<Answer> {
    return (await (await this.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))).json()) as Answer
  }

  /** A body as it is, with a good token or with other headers. */
  post(body: string, headers: Record<string, string> = { authorization: `Bearer ${token(this.secret)}` }): Promise<Response> {
    return fetch(this.url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
  }

  /** The result of a request; throws where it is an error. */
  async call<T>(method: string, ...params: unknown[]): Promise<T> {
    const { result, error } = await this.ask(method, ...params)
    if (error !== undefined) throw new Error(`${method}: ${error.code} ${error.message} ${JSON.stringify(error.data)}`)
    return result as T
  }

  /** Moves the head; the verdict on it. */
  async choose(head: string, { safe = ZERO, finalized = ZERO } = {}): Promise<Status> {
    const state = { headBlockHash: head, safeBlockHash: safe, finalizedBlockHash: finalized }
    const { payloadStatus } = await this.call<{ payloadStatus: Status }>('engine_forkchoiceUpdatedV3', state, null)
    return payloadStatus
  }

  /**
   * Requests a block on the head, by its time and randomness; it is not sent to the node as a
   * payload here.
   */
  async build(head: string, timestamp: number, salt = 0): Promise<Payload> {
    const state = { headBlockHash: head, safeBlockHash: ZERO, finalizedBlockHash: ZERO }
    const { payloadId } = await this.call<{ payloadId: string }>('engine_forkchoiceUpdatedV3', state, {
      timestamp: `0x${timestamp.toString(16)}`,
      prevRandao: `0x${salt.toString(16).padStart(64, '0')}`,
      suggestedFeeRecipient: `0x${'fe'.repeat(20)}`,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO,
    })
    return (await this.call<{ executionPayload: Payload }>('engine_getPayloadV3', payloadId)).executionPayload
  }

  /** Hands a block over; the verdict. */
  give(payload: Payload): Promise<Status> {
    return this.call<Status>('engine_newPayloadV3', payload, [], ZERO)
  }
}
