// Requests for baked traces in the form that clients send them: told by their text alone, without the way over parsed objects, codecs and the
// core's JSON, which takes longer than reading such an answer does.
import type { Core, NamedTrace, ReadyTrace } from '../core/port.ts'
import { mayTrace, type TraceRules } from './codec/index.ts'
import { RESULT_TAIL, resultHead } from './envelope.ts'
import type { Method } from './method.ts'

/** A request for a trace whose configuration is the name of a tracer and nothing else. */
export interface PlainTrace extends NamedTrace {
  /** The id as the client wrote it. */
  readonly id: string
  readonly method: string
}

/** Longest text that is looked at, in UTF-16 units. */
const TEXT_MAX = 512

/** What every such request has in it. */
const MARK = '"debug_trace'

const SPACE = '[ \\t\\n\\r]*'
const COLON = `"${SPACE}:${SPACE}`
const COMMA = `${SPACE},${SPACE}`

/** A member of a request, and what stands behind it. Ids are short numbers, and strings of which each character is what it looks like. */
const MEMBER = new RegExp(
  `${SPACE}"(?:jsonrpc${COLON}("2\\.0")|id${COLON}(0|[1-9][0-9]{0,14}|"[ !#-\\[\\]-~]*")|` +
    `method${COLON}"(debug_trace(?:Transaction|BlockByNumber|BlockByHash))"|` +
    `params${COLON}\\[${SPACE}"(latest|0x[0-9a-fA-F]{1,64})"${COMMA}\\{${SPACE}"tracer${COLON}"([A-Za-z]+)"${SPACE}\\}${SPACE}\\])${SPACE}([,}])`,
  'y',
)

const MEMBERS = 4

const HASH_LENGTH = 66

/** A height without leading zeros. */
const HEIGHT = /^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,15})$/

/** Reads a request that is in no way unusual; undefined for all else, which may be good or bad. */
export function plainTrace(text: string): PlainTrace | undefined {
  if (text.length > TEXT_MAX || text.charCodeAt(0) !== 0x7b || !text.includes(MARK)) return undefined
  let [version, id, method, named, tracer]: (string | undefined)[] = []
  MEMBER.lastIndex = 1
  for (let left = MEMBERS; left > 0; left--) {
    const found = MEMBER.exec(text)
    if (found === null || (found[6] === '}') !== (left === 1)) return undefined
    version ??= found[1]
    id ??= found[2]
    method ??= found[3]
    named ??= found[4]
    tracer ??= found[5]
  }
  // As many members as there are kinds: where each kind is there, none is twice.
  if (version === undefined || id === undefined || method === undefined || named === undefined || tracer === undefined) return undefined
  if (MEMBER.lastIndex !== text.length) return undefined
  const isByNumber = method === 'debug_traceBlockByNumber'
  if (isByNumber ? named !== 'latest' && !HEIGHT.test(named) : named.length !== HASH_LENGTH) return undefined
  return {
    id,
    method,
    of: isByNumber ? 'blockByNumber' : method === 'debug_traceTransaction' ? 'transaction' : 'blockByHash',
    named,
    tracer,
  }
}

/** Looks for the answer to a plain request for a trace. */
export type FindReady = (request: PlainTrace, gzipOver: number | undefined) => ReadyTrace | undefined

/** Finds answers that are ready under a node's rules; undefined where there is nothing to be found. Which tracers are baked the core knows. */
export function readyTraces(core: Core, table: ReadonlyMap<string, Method>, rules: TraceRules): FindReady | undefined {
  const { readyTrace } = core
  if (readyTrace === undefined) return undefined
  return (request, gzipOver) =>
    mayTrace(request.tracer, rules) && table.has(request.method)
      ? readyTrace(request, resultHead(request.id), RESULT_TAIL, gzipOver)
      : undefined
}
