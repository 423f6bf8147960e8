// Transactions of clients go to an upstream, each at most once: one that got no answer may have
// been taken.
import type { Core } from '../core/port.ts'
import { readJson } from '../core/results.ts'
import { type Forward, type ForwardOptions, forwardTo } from '../peers/forward.ts'
import type { Upstreams } from './upstreams.ts'

/** What nodes answer where they have a transaction already. */
const KNOWN_ALREADY = /already known|already in|alreadyknown|known transaction|already imported/i

/** Bounds of sending. */
export type SendOptions = Pick<ForwardOptions, 'timeoutMs' | 'inFlightMax' | 'onFailure'>

/**
 * Sends to the first upstream that can be reached. Only where no connection could be opened is the
 * next one tried. A transaction that the upstream has already is one that was taken.
 */
export function sendsTo(upstreams: Upstreams, core: Core, options: SendOptions): Forward {
  const forwards = new Map(upstreams.all.map((upstream) => [upstream, forwardTo({ ...options, url: upstream.url })]))
  const order = (): readonly (typeof upstreams.all)[number][] => [
    ...upstreams.all.filter(({ head }) => head !== undefined),
    ...upstreams.all.filter(({ head }) => head === undefined),
  ]
  return async (method, params, waitMs, signal) => {
    let answer: Awaited<ReturnType<Forward>> = { failure: 'unreachable' }
    for (const upstream of order()) {
      answer = (await forwards.get(upstream)?.(method, params, waitMs, signal)) ?? answer
      if (!('failure' in answer) || answer.failure !== 'unreachable') break
    }
    const isKnown = 'error' in answer && method === 'eth_sendRawTransaction' && KNOWN_ALREADY.test(answer.error.message)
    return isKnown ? { result: await readJson(core, 'keccak', { data: String(params[0]) }) } : answer
  }
}
