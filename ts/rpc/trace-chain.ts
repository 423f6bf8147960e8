// The feed of debug_subscribe "traceChain": a range of blocks, each traced when the one before has
// been sent.

import type { ByteStream } from '../core/body.ts'
import { CoreError } from '../core/error.ts'
import type { BlockNumber, Core, Hex, JsonObject } from '../core/port.ts'
import { readJson } from '../core/results.ts'
import { CODE, RpcError, toRpcError } from './errors.ts'
import type { Feed } from './subscription.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A canonical block. */
interface BlockId {
  readonly number: Hex
  readonly hash: Hex
}

/** The traces of a block without transactions. */
const NO_TRACES = '[]'

async function blockId(core: Core, block: BlockNumber): Promise<BlockId> {
  const found = await readJson(core, 'getBlockId', { block })
  if (found === null) throw new CoreError('block_not_found', /^0x/.test(block) ? `block #${Number(block)} not found` : 'block not found')
  return found
}

/** Bytes that are there already, as a stream. */
function whole(text: string): ByteStream {
  const chunks = [encoder.encode(text)]
  return { next: async () => chunks.shift() ?? null, cancel: () => undefined }
}

/** A stream with text around it, of which the first chunk has been taken already. */
function around(head: string, first: Uint8Array, rest: ByteStream, tail: string): ByteStream {
  const before = [encoder.encode(head), first]
  let over = false
  return {
    async next() {
      const chunk = before.shift() ?? (over ? null : await rest.next())
      if (chunk !== null || over) return chunk
      over = true
      return encoder.encode(tail)
    },
    cancel: () => rest.cancel(),
  }
}

/** What a block that cannot be traced leaves in its place; the feed ends with it. */
function failure(block: Hex, hash: Hex | undefined, e: unknown, report: (e: unknown) => void): ByteStream {
  const { code, message } = toRpcError(e, report)
  return whole(JSON.stringify({ block, hash, error: { code, message } }))
}

/**
 * The blocks after `start` up to `end`, without those that have no transactions, except for the
 * last one. Throws if there are no such blocks, before the feed begins.
 */
export async function traceChainFeed(
  core: Core,
  start: BlockNumber,
  end: BlockNumber,
  config: JsonObject | undefined,
  report: (e: unknown) => void,
): Promise<Feed> {
  const [from, to] = [Number((await blockId(core, start)).number), Number((await blockId(core, end)).number)]
  if (from >= to) throw new RpcError(CODE.server, `end block (#${to}) needs to come after start block (#${from})`)
  let current: ByteStream | undefined
  let isOver = false
  async function* results(): AsyncGenerator<ByteStream, void> {
    for (let height = from + 1; height <= to && !isOver; height++) {
      const block = `0x${height.toString(16)}`
      let hash: Hex | undefined
      try {
        // The chain may have been unwound meanwhile.
        hash = (await blockId(core, block)).hash
        if (isOver) return
        const traces = core.stream('traceBlockByHash', { hash, config })
        current = traces
        const first = await traces.next()
        if (first === null) continue
        const empty = first.length === NO_TRACES.length && decoder.decode(first) === NO_TRACES
        if (empty && height < to) continue
        yield around(`{"block":"${block}","hash":"${hash}","traces":`, first, traces, '}')
      } catch (e) {
        yield failure(block, hash, e, report)
        return
      } finally {
        current?.cancel()
      }
    }
  }
  const endFeed = (): void => {
    isOver = true
  }
  const cancel = (): void => {
    endFeed()
    current?.cancel()
  }
  return { results: results(), cancel, end: endFeed }
}
