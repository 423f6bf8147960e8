// Traces that are baked: the core looks them up by name, without the codecs of parameters and the
// core's JSON, which take longer than reading such an answer does.
import type { Core, NamedTrace, OpenOptions, ReadyTrace } from '../core/port.ts'
import { mayTrace, type TraceRules } from './codec/index.ts'

/** What the core calls the ways to name a trace. */
const TRACE_OF: ReadonlyMap<string, NamedTrace['of']> = new Map([
  ['debug_traceTransaction', 'transaction'],
  ['debug_traceBlockByNumber', 'blockByNumber'],
  ['debug_traceBlockByHash', 'blockByHash'],
])

/** Longest head of an answer, in UTF-16 units: an id may be as long as its client likes. */
const HEAD_MAX = 512

const HASH = /^0x[0-9a-fA-F]{64}$/

/** A height without leading zeros, or the newest block. */
const HEIGHT = /^(?:latest|0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,15}))$/

const TRACER = /^[A-Za-z]+$/

/** The only member of an object, where it is `tracer` and names a tracer. */
function tracerOf(config: unknown): string | undefined {
  if (typeof config !== 'object' || config === null) return undefined
  const { tracer } = config as { readonly tracer?: unknown }
  if (typeof tracer !== 'string' || !TRACER.test(tracer)) return undefined
  for (const key in config) if (key !== 'tracer') return undefined
  return tracer
}

/**
 * The trace that a request names, if its configuration is only the name of a tracer; undefined for
 * any other request.
 */
export function namedTrace(method: string, params: unknown): NamedTrace | undefined {
  const of = TRACE_OF.get(method)
  if (of === undefined || !Array.isArray(params) || params.length !== 2) return undefined
  const named: unknown = params[0]
  if (typeof named !== 'string' || !(of === 'blockByNumber' ? HEIGHT : HASH).test(named)) return undefined
  const tracer = tracerOf(params[1])
  return tracer === undefined ? undefined : { of, named, tracer }
}

/** Looks up the answer to a request in the trace cache. */
export type FindReady = (method: string, params: unknown, options: OpenOptions) => ReadyTrace | undefined

/**
 * Finds answers that are ready under a node's rules; undefined where nothing is baked. The core
 * knows which tracers are baked. A look-up that fails is reported, and finds nothing: the ordinary
 * way says why.
 */
export function readyTraces(core: Core, rules: TraceRules, report: (e: unknown) => void): FindReady | undefined {
  const { readyTrace } = core
  if (readyTrace === undefined) return undefined
  // Most requests name the tracer of the request before.
  let last = ''
  let isLastServed = mayTrace(last, rules)
  const isServed = (tracer: string): boolean => {
    if (tracer !== last) [last, isLastServed] = [tracer, mayTrace(tracer, rules)]
    return isLastServed
  }
  return (method, params, options) => {
    const named = options.head.length > HEAD_MAX ? undefined : namedTrace(method, params)
    if (named === undefined || !isServed(named.tracer)) return undefined
    try {
      return readyTrace(named, options)
    } catch (e) {
      report(e)
      return undefined
    }
  }
}
