// The configuration of a trace: the second parameter of debug_traceTransaction, and the part of it
// that this node allows.
import { jsTracersOff, tracerNotAllowed, unknownTraceOption } from '../errors.ts'
import { BadValue, type Codec, kindOf, object } from './codec.ts'
import { unknownOptions } from './trace-options.ts'

/** What traces may be on this node. */
export interface TraceRules {
  /** Time limit of one transaction's trace where the request names none, in milliseconds. */
  readonly timeoutMs: number
  /** Names of the built-in tracers that may be used; `all` is every one. */
  readonly allowed: readonly string[] | 'all'
  /** What `allowed` calls the trace without a tracer. */
  readonly withoutTracer: string
  /** Whether a tracer may be JavaScript. */
  readonly scripts: boolean
  /** Whether unknown options are refused. */
  readonly strictOptions: boolean
  /** Most blocks that one trace_filter searches. */
  readonly filterMaxBlocks: number
  /** Most traces of one trace_filter; 0 is no limit. */
  readonly filterMaxResults: number
  /** Names that stand for scripts; the names of built-in tracers say nothing of them. */
  readonly scriptNames: readonly string[]
}

/**
 * An object whose `tracer` is a name or a script; what is inside `tracerConfig` is the tracer's own
 * matter.
 */
export const traceConfig: Codec<Record<string, unknown>> = (value) => {
  const config = object(value)
  for (const name of ['tracer', 'timeout']) {
    const entry = config[name]
    if (entry !== undefined && entry !== null && typeof entry !== 'string')
      throw new BadValue(`cannot use ${kindOf(entry)} as a string`, name)
  }
  return config
}

/** A word: what is no word is JavaScript. */
const WORD = /^[A-Za-z0-9_-]+$/

/** Most muxTracers within each other that are looked into; the core refuses more. */
const MUX_DEPTH_MAX = 16

function checkTracer(tracer: string, rules: TraceRules): void {
  const isScript = !WORD.test(tracer) || rules.scriptNames.includes(tracer)
  if (isScript && !rules.scripts) throw jsTracersOff()
  if (!isScript && rules.allowed !== 'all' && !rules.allowed.includes(tracer)) throw tracerNotAllowed(tracer, rules.allowed)
}

/** Whether a tracer may be used, by its name. */
export function mayTrace(tracer: string, rules: TraceRules): boolean {
  try {
    checkTracer(tracer, rules)
    return true
  } catch {
    return false
  }
}

/** The tracers within a muxTracer are the keys of its configuration. */
function checkMux(config: unknown, rules: TraceRules, depth: number): void {
  if (config === null || typeof config !== 'object' || depth > MUX_DEPTH_MAX) return
  for (const [tracer, inner] of Object.entries(config)) {
    checkTracer(tracer, rules)
    if (tracer === 'muxTracer') checkMux(inner, rules, depth + 1)
  }
}

/**
 * What takes warnings about a request, and the options that its method has beside those of every
 * trace.
 */
export interface OptionChecks {
  readonly warn?: ((warning: string) => void) | undefined
  readonly more?: readonly string[]
}

/**
 * The configuration as this node runs it: refused if its tracer is not allowed, with the node's
 * time limit by default. The core ignores the case of keys, so every spelling is checked. Unknown
 * options are refused if the rules say so, otherwise they cause a warning.
 */
export function underRules(
  config: Record<string, unknown> | undefined,
  rules: TraceRules,
  { warn, more }: OptionChecks = {},
): Record<string, unknown> {
  if (config !== undefined && (rules.strictOptions || warn !== undefined)) {
    for (const warning of unknownOptions(config, more) ?? []) {
      if (rules.strictOptions) throw unknownTraceOption(warning)
      warn?.(warning)
    }
  }
  let named = false
  let mux = false
  let timed = false
  // Every trace comes through here: no arrays where one loop does.
  for (const name in config) {
    if (name.length === 'timeout'.length && name.toLowerCase() === 'timeout') timed ||= config[name] != null
    if (name.length !== 'tracer'.length || name.toLowerCase() !== 'tracer') continue
    const tracer = config[name]
    named = true
    mux ||= tracer === 'muxTracer'
    checkTracer(typeof tracer === 'string' ? tracer : rules.withoutTracer, rules)
  }
  if (!named) checkTracer(rules.withoutTracer, rules)
  if (mux) {
    for (const [name, inner] of Object.entries(config ?? {})) if (name.toLowerCase() === 'tracerconfig') checkMux(inner, rules, 0)
  }
  return timed ? { ...config } : { ...config, timeout: `${rules.timeoutMs}ms` }
}
