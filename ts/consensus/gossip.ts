// Transactions of the node's pool for the mempool of CometBFT, which passes them on to other nodes.
// Only versions before 0.40 need it: later ones request them from the application.
import { RPC_BATCH_MAX, RPC_BODY_BYTES_MAX } from './config-toml.ts'
import { type RefusalKind, type RpcError, refusalKind } from './refusals.ts'
import { fetchEngine } from './rpc.ts'

/** Time between two looks into the pool, in milliseconds. */
export const REAP_EVERY_MS = 25

/** Time before a batch that was not taken is sent again, in milliseconds. */
const AGAIN_MS = 500

/** Longest time for the answer to a batch, in milliseconds. */
const BATCH_MS_MAX = 10_000

/**
 * Bytes of transactions that are taken out of the pool at a time: as base64 with their envelope
 * they fit one request.
 */
export const REAP_BYTES_MAX = RPC_BODY_BYTES_MAX / 4

/** What stands around a transaction in a request, in bytes, at most. */
const AROUND_BYTES = 100

/** Longest batch, in bytes. */
const BATCH_BYTES_MAX = RPC_BODY_BYTES_MAX - 64 * 1024

/** What became of a transaction. */
export type Verdict = 'taken' | 'again' | 'refused'

/** What became of a transaction by the kind of the error; any other kind is a refusal. */
const VERDICTS: Partial<Record<RefusalKind, Verdict>> = { in_cache: 'taken', mempool_full: 'again', app_gone: 'again' }

/** What an error of broadcast_tx_async means. */
export const verdictOf = (error: RpcError | undefined): Verdict =>
  error === undefined ? 'taken' : (VERDICTS[refusalKind(error)] ?? 'refused')

/** The first transactions of some that fit one request, in base64. */
export function firstBatch(hexes: readonly string[], bytesMax = BATCH_BYTES_MAX, countMax = RPC_BATCH_MAX): string[] {
  const batch: string[] = []
  let bytes = 0
  for (const hex of hexes) {
    const text = Buffer.from(hex.replace(/^0x/, ''), 'hex').toString('base64')
    bytes += text.length + AROUND_BYTES
    if (batch.length >= countMax || (bytes > bytesMax && batch.length > 0)) break
    batch.push(text)
  }
  return batch
}

/** Gives each transaction of a batch to CometBFT; resolves to what became of them, in order. */
export async function broadcast(url: string, batch: readonly string[]): Promise<Verdict[]> {
  const body = JSON.stringify(batch.map((tx, id) => ({ jsonrpc: '2.0', id, method: 'broadcast_tx_async', params: { tx } })))
  const answer = await fetchEngine(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }, BATCH_MS_MAX)
  const answers = (Array.isArray(answer) ? answer : [answer]) as {
    readonly id?: number
    readonly error?: RpcError
  }[]
  const byId = new Map(answers.map((one) => [one.id, one]))
  return batch.map((_, id) => {
    const one = byId.get(id)
    return one === undefined ? 'again' : verdictOf(one.error)
  })
}

/** Where transactions come from and go. */
export interface GossipOptions {
  /** Transactions in hex that became executable since the last call, each once. */
  readonly reap: (maxBytes: number) => Promise<readonly string[]>
  readonly send: (batch: readonly string[]) => Promise<readonly Verdict[]>
  /** Whether CometBFT runs: nothing is taken out of the pool before. */
  readonly isUp: () => boolean
  /** Called with transactions that CometBFT does not take, and why nothing could be sent. */
  readonly warn: (message: string, fields: Readonly<Record<string, string | number>>) => void
  readonly everyMs?: number
  readonly againMs?: number
}

/** Brings transactions from the pool to CometBFT, one batch at a time, until it is stopped. */
export class Gossip {
  private readonly options: GossipOptions
  private waiting: readonly string[] = []
  private timer: NodeJS.Timeout | undefined
  private isStopped = false
  private isFailing = false

  constructor(options: GossipOptions) {
    this.options = options
  }

  start(): void {
    this.next(0)
  }

  stop(): void {
    this.isStopped = true
    clearTimeout(this.timer)
  }

  private next(ms: number): void {
    if (!this.isStopped) this.timer = setTimeout(() => void this.step(), ms)
  }

  private async step(): Promise<void> {
    const { reap, isUp, everyMs = REAP_EVERY_MS, againMs = AGAIN_MS } = this.options
    try {
      if (!isUp()) {
        this.next(everyMs)
        return
      }
      if (this.waiting.length === 0) this.waiting = await reap(REAP_BYTES_MAX)
      if (this.waiting.length === 0) {
        this.next(everyMs)
        return
      }
      const again = await this.give()
      this.isFailing = false
      // What came meanwhile waits for more: a request for each transaction takes a good part of a
      // processor while clients send one after the other.
      this.next(again ? againMs : this.waiting.length > 0 ? 0 : everyMs)
    } catch (e) {
      if (!this.isFailing && !this.isStopped)
        this.options.warn('transactions wait for CometBFT', {
          waiting: this.waiting.length,
          why: e instanceof Error ? e.message : String(e),
        })
      this.isFailing = true
      this.next(againMs)
    }
  }

  /** Sends the first batch of what waits; whether some of it has to be sent again. */
  private async give(): Promise<boolean> {
    const batch = firstBatch(this.waiting)
    const sent = this.waiting.slice(0, batch.length)
    const verdicts = await this.options.send(batch)
    const again = sent.filter((_, i) => verdicts[i] === 'again')
    const refused = verdicts.filter((verdict) => verdict === 'refused').length
    if (refused > 0) this.options.warn('CometBFT does not take transactions that the pool has', { refused })
    this.waiting = [...again, ...this.waiting.slice(batch.length)]
    return again.length > 0
  }
}
