// Headers of answers over HTTP that say more than the answer does.
import type { TraceOrigin } from '../core/port.ts'
import { VERIFIED, VERIFIED_HEADER } from './elsewhere.ts'
import { ANY, REDIRECTED_HEADER, REDIRECTED_TO_HEADER } from './redirect.ts'

/** Header that says what a trace was made from. */
export const TRACE_HEADER = 'x-hearth-trace'

/** Header with what is probably a mistake in the request. */
export const WARNING_HEADER = 'x-hearth-warning'

/** Header of answers in which a method of the namespace `chain` had part. */
export const LEGACY_HEADER = 'chain-legacy-rpc-deprecation'

/** What it says. */
export const LEGACY_TEXT = 'methods of the namespace chain are deprecated: use those of eth, or the queries of gRPC and REST'

/** Every value of `x-hearth-trace`, and when it comes. */
export const TRACE_ORIGINS: Readonly<Record<TraceOrigin, string>> = {
  baked: 'The answer was stored in the trace cache before the request came (`evm.trace_bake_enabled`, `hearth bake`).',
  capsule: "The transaction was executed again on its block's trace capsule.",
  history: 'The transactions of the block before it were executed again on the state of the parent block (`evm.trace_source`).',
}

/** Most warnings of one answer. */
export const WARNINGS_MAX = 4

/** Most characters of a client's text in a warning. */
const SHOWN_CHARACTERS_MAX = 40

/** A client's text in quotes, as a header may carry it: bounded, printable ASCII. */
export function quoted(text: string): string {
  const shown = text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}...` : text
  return JSON.stringify(shown).replace(/[^\x20-\x7e]/g, '?')
}

/** The sections of docs/rpc.md about these headers. */
export const headersSection = (): string[] => [
  '## Headers of answers',
  '',
  'Over HTTP an answer to a single request may carry these headers; answers over WebSocket do not. `server-timing: wait;dur=MS` is the time',
  'for which the work waited for its thread.',
  '',
  `### ${TRACE_HEADER}`,
  '',
  'What a trace of a transaction or block that is on disk was made from. It comes with debug_traceTransaction, debug_traceBlock,',
  'debug_traceBlockByNumber and debug_traceBlockByHash, and with the methods of steps (debug_traceStepIndex, debug_traceSteps,',
  'debug_traceStepSearch, debug_traceGasProfile), and with the methods of the namespaces trace and ots that trace these; not with batches,',
  'errors before the trace begins, other methods, nor traced calls, which run on a state and not in a block. trace_filter names the origin',
  'of the block that took the most work.',
  '',
  '| value | when |',
  '|---|---|',
  ...Object.entries(TRACE_ORIGINS).map(([value, when]) => `| \`${value}\` | ${when} |`),
  '',
  'A trace capsule is a record that the node keeps of each block with transactions that it executed: the values that the block read from the state, and what each of its',
  'transactions wrote. With it any transaction of the block is executed again without the state of that height and without those before it.',
  '',
  `### ${WARNING_HEADER}`,
  '',
  `Options of traces that the node does not know, and which one may be meant; at most ${WARNINGS_MAX}, separated by \` | \`. The request is served without`,
  'them, as go-ethereum does. With `evm.strict_trace_options` it is refused with -32602.',
  '',
  `### ${LEGACY_HEADER}`,
  '',
  'Methods of the namespace `chain` are kept for clients that know them, and may go away (`evm.enabled_legacy_chain_apis`). An answer of one carries this header.',
  '',
  `### ${VERIFIED_HEADER}`,
  '',
  'How well what an answer of `hearth follow` is made from was checked. Nodes that hold state send no such header.',
  '',
  '| value | when |',
  '|---|---|',
  ...Object.entries(VERIFIED).map(([value, when]) => `| \`${value}\` | ${when} |`),
  '',
  `### ${REDIRECTED_TO_HEADER}`,
  '',
  `The consensus address of the validator that answered (\`consensus.redirect\`), or \`${ANY}\` for an entry of \`consensus.validator_rpc\` without an address. The node`,
  `sends such requests with the header \`${REDIRECTED_HEADER}\`, and serves itself what comes with it.`,
]
