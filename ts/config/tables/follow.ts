// [follow]: a node that holds blocks and traces, but no state, and follows another node.
import { boolean, integer, type Kind, oneWord, or, Refused, text } from '../parsers.ts'
import { bytes, duration } from '../units.ts'
import { GIB, HOUR, MIB, MINUTE, nodeUrl, SECOND, setting } from './shared.ts'

/** Most blocks of a range. */
const BLOCKS_MAX = 1_000_000

/** Most nodes that one node follows. */
const UPSTREAMS_MAX = 16

/** URLs of JSON-RPC; a refused value is not shown, since it may contain a password or a key. */
const upstreamUrls: Kind<readonly string[]> = ((): Kind<readonly string[]> => {
  const takes = `a list of up to ${UPSTREAMS_MAX} URLs of JSON-RPC over HTTP such as http://127.0.0.1:8545`
  const isFine = (url: unknown): boolean => typeof url === 'string' && /^https?:\/\/\S+$/.test(url) && URL.canParse(url)
  const check = (value: unknown): readonly string[] => {
    if (Array.isArray(value) && value.length <= UPSTREAMS_MAX && value.every(isFine)) return [...new Set(value as string[])]
    throw new Refused(`takes ${takes}, not "…": what was given is not shown, since it may hold a secret`)
  }
  const parse = (line: string): readonly string[] =>
    check(
      line
        .split(',')
        .map((url) => url.trim())
        .filter((url) => url !== ''),
    )
  return { takes, check, parse, plain: (value) => value }
})()

/** `none`, or the URL of a WebSocket. */
const socketUrl: Kind<string> = ((): Kind<string> => {
  const takes = 'none or a URL of JSON-RPC over WebSocket such as ws://127.0.0.1:8546'
  const check = (value: unknown): string => {
    if (value === 'none') return value
    // A WebSocket throws where its URL has a fragment.
    if (typeof value === 'string' && /^wss?:\/\/[^\s#]+$/.test(value) && URL.canParse(value)) return value
    throw new Refused(`takes ${takes}, not "…": what was given is not shown, since it may hold a secret`)
  }
  return { ...nodeUrl, takes, check, parse: check }
})()

/** Settings of `hearth follow`. */
export const FOLLOW = {
  'follow.upstream_urls': setting({
    kind: upstreamUrls,
    default: [] as readonly string[],
    doc: 'Nodes that hearth follow follows, over HTTP: the first one that answers and is not behind. The others answer for it, and requests that need state go to them too. User and password may stand in a URL.',
  }),
  'follow.upstream_ws_url': setting({
    kind: socketUrl,
    default: 'none',
    doc: 'WebSocket of the first upstream: it reports new heads by subscription, so that no poll is waited for. Polling continues.',
  }),
  'follow.source': setting({
    kind: oneWord('auto', 'witness', 'proof', 'prestate'),
    default: 'auto' as 'auto' | 'witness' | 'proof' | 'prestate',
    doc: 'Where the state that a block reads comes from. witness: debug_executionWitness. proof: eth_getProof of the keys that prestateTracer names. prestate: values of these keys without proofs. auto: the first of these that the upstream has.',
  }),
  'follow.verify': setting({
    kind: oneWord('proven', 'executed'),
    default: 'proven' as 'proven' | 'executed',
    doc: 'What must be checked of each block. proven: everything up to the state root. executed: gas, receipts, logs and requests, not the state root, where the upstream proves nothing (source prestate).',
  }),
  'follow.from': setting({
    kind: or('latest', or('finalized', integer(1, Number.MAX_SAFE_INTEGER))),
    default: 'latest' as number | 'latest' | 'finalized',
    doc: 'First block of a new data directory: latest, finalized, or a number. Earlier blocks are served by the upstream.',
  }),
  'follow.checkpoint': setting({
    kind: or('none', text('a block hash of 32 bytes in hex', /^0x[0-9a-fA-F]{64}$/)),
    default: 'none' as string,
    doc: 'Hash of a block from a source that you trust: the chain of the upstream must have it. A new data directory begins after it, unless follow.from is given. none: the chain of the upstream is believed.',
  }),
  'follow.poll_interval': setting({
    kind: duration(10, MINUTE),
    default: 500,
    unit: 'ms',
    doc: 'Time between two requests for the newest block of an upstream.',
  }),
  'follow.timeout': setting({
    kind: duration(100, HOUR),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'Maximum time for one request to an upstream, with the attempts that follow errors of a busy node. A transaction is sent once.',
  }),
  'follow.reorg_blocks': setting({
    kind: integer(1, BLOCKS_MAX),
    default: 128,
    unit: 'blocks',
    doc: 'Maximum number of blocks that leave the chain for another branch. With a deeper one, the node stops following, and /ready says so.',
  }),
  'follow.max_witness_bytes': setting({
    kind: bytes(MIB, 4 * GIB - 1),
    default: 256 * MIB,
    unit: 'bytes',
    doc: 'Maximum size of a witness, as the text of the answer. As many bytes of blocks that were fetched ahead may be in memory, or one block.',
  }),
  'follow.at_once': setting({
    kind: integer(1, 64),
    default: 4,
    unit: 'blocks',
    doc: 'Number of blocks that are fetched at the same time while the node catches up.',
  }),
  'follow.redirect': setting({
    kind: boolean,
    default: true,
    doc: 'Whether requests that need state, or are about blocks that the node does not hold, go to the upstreams; transactions too. If false, they are refused.',
  }),
  'follow.redirect_max_in_flight': setting({
    kind: integer(1, 100_000),
    default: 1024,
    unit: 'requests',
    doc: 'Maximum number of requests of clients that wait for an upstream at the same time. More are refused.',
  }),
  'follow.ready_lag_blocks': setting({
    kind: integer(0, BLOCKS_MAX),
    default: 8,
    unit: 'blocks',
    doc: '/ready returns 503 while the node is more than this number of blocks behind its upstream.',
  }),
} as const
