// Traces under the names of the trace_ namespace: those of flatCallTracer.
import type { Core, Hex, JsonObject, ResultStream } from '../../../core/port.ts'
import { blockNumber, hash, underRules } from '../../codec/index.ts'
import { json, type Method, type Result, required, type Surroundings } from '../../method.ts'
import { named } from './named.ts'

const FLAT: JsonObject = { tracer: 'flatCallTracer' }

const encoder = new TextEncoder()

async function whole(stream: ResultStream): Promise<Buffer> {
  const parts: Buffer[] = []
  // A chunk's memory is not ours once the next one is asked for.
  for (let part = await stream.next(); part !== null; part = await stream.next()) parts.push(Buffer.from(part))
  return Buffer.concat(parts)
}

/** The traces of transactions, one after the other, as one array. No more than those of one transaction are in memory. */
class TracesOf implements ResultStream {
  private readonly traceOf: (hash: Hex) => ResultStream
  private readonly hashes: readonly Hex[]
  private current: ResultStream | undefined
  private at = -1
  private cancelled = false

  constructor(hashes: readonly Hex[], traceOf: (hash: Hex) => ResultStream) {
    this.hashes = hashes
    this.traceOf = traceOf
  }

  async next(): Promise<Uint8Array | null> {
    if (this.isOver()) return null
    const hash = this.hashes[++this.at]
    if (hash === undefined) return encoder.encode(this.at === 0 ? '[]' : ']')
    this.current = this.traceOf(hash)
    const traces = await whole(this.current)
    const begin = this.at === 0 ? '[' : ','
    return Buffer.concat([encoder.encode(begin), traces.subarray(1, -1)])
  }

  isOver(): boolean {
    return this.cancelled || this.at >= this.hashes.length
  }

  cancel(): void {
    this.cancelled = true
    this.current?.cancel()
  }
}

const traceOf =
  ({ core, trace }: Surroundings) =>
  (hash: Hex): ResultStream =>
    core.stream('traceTransaction', { hash, config: underRules(FLAT, trace) })

async function hashesOf(core: Core, block: string): Promise<readonly Hex[] | null> {
  const bytes = await core.request('getBlockByNumber', { block, full: false })
  return (JSON.parse(Buffer.from(bytes).toString()) as { transactions: readonly Hex[] } | null)?.transactions ?? null
}

export const devTraces: readonly Method[] = [
  ...named(
    'trace_transaction',
    'The calls of a transaction, each as a trace of its own, as flatCallTracer gives them.',
    [required('hash', hash)],
    (context, hash) => traceOf(context)(hash),
    'heavy',
  ),
  ...named(
    'trace_block',
    'The calls of all transactions of a block, as trace_transaction; null where there is no such block.',
    [required('block', blockNumber)],
    async (context, block): Promise<Result> => {
      const hashes = await hashesOf(context.core, block)
      return hashes === null ? json(null) : new TracesOf(hashes, traceOf(context))
    },
    'heavy',
  ),
]
