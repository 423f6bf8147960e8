// The options of a trace's configuration, by name. The core ignores unknown ones, as go-ethereum
// does, so a misspelt one must be reported here.
import { TRACER_TABLE } from '../../config/index.ts'
import { distance } from '../../config/nearest.ts'
import { quoted } from '../headers.ts'

/** Options of the struct logger: opcodeTracer has the same in its `tracerConfig`. */
const STRUCT_LOGGER = TRACER_TABLE.find(({ name }) => name === 'opcodeTracer')?.options ?? []

/** Options at the top level of a trace's configuration. */
export const TRACE_OPTIONS: readonly string[] = ['tracer', 'tracerConfig', 'timeout', 'reexec', ...STRUCT_LOGGER]

/** Options beside them in the configuration of a traced call. */
export const CALL_OPTIONS: readonly string[] = ['stateOverrides', 'blockOverrides', 'txIndex']

/**
 * Options in `tracerConfig` of the tracers. Those of muxTracer are tracers; a script takes any.
 */
export const TRACER_OPTIONS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  TRACER_TABLE.filter(({ name }) => name !== 'muxTracer').map(({ name, options }) => [name, options]),
)

/** Most options that are reported of one configuration. */
const REPORTED_MAX = 4

/** Most edits between an unknown option and the one that may be meant. */
const NEAR_EDITS_MAX = 3

/** Longest name that is compared with known ones, in characters. */
const COMPARED_CHARACTERS_MAX = 40

const known = new Set(TRACE_OPTIONS)

const isIn = (options: readonly string[], name: string): boolean => {
  const folded = name.toLowerCase()
  return options.some((option) => option.toLowerCase() === folded)
}

/** The option with the fewest edits; undefined where none is near. */
function near(name: string, options: readonly string[]): string | undefined {
  if (name.length > COMPARED_CHARACTERS_MAX) return undefined
  const folded = name.toLowerCase()
  const most = Math.min(NEAR_EDITS_MAX, Math.floor(name.length / 2))
  const ranked = options.map((option) => [distance(folded, option.toLowerCase()), option] as const)
  const [edits, option] = ranked.reduce((best, next) => (next[0] < best[0] ? next : best), [most + 1, ''] as const)
  return edits > most ? undefined : option
}

const meant = (name: string, options: readonly string[]): string => {
  const option = near(name, options)
  return option === undefined ? '' : `; did you mean "${option}"?`
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Adds what is unknown in `tracerConfig` of a tracer, tracers within muxTracer included. */
function inTracerConfig(tracer: string, config: unknown, into: string[]): void {
  if (!isObject(config)) return
  for (const name in config) {
    if (into.length >= REPORTED_MAX) return
    if (tracer === 'muxTracer') inTracerConfig(name, config[name], into)
    else {
      const options = Object.hasOwn(TRACER_OPTIONS, tracer) ? TRACER_OPTIONS[tracer] : undefined
      if (options === undefined) return
      if (!isIn(options, name)) into.push(`unknown option ${quoted(name)} in tracerConfig of ${tracer}${meant(name, options)}`)
    }
  }
}

/** The unknown option at the top level; for an option of the tracer also its right position. */
function unknownText(name: string, tracer: unknown, more: readonly string[]): string {
  const ofTracer = typeof tracer === 'string' && Object.hasOwn(TRACER_OPTIONS, tracer) ? (TRACER_OPTIONS[tracer] ?? []) : []
  const hint = isIn(ofTracer, name) ? '; it belongs into tracerConfig' : meant(name, [...TRACE_OPTIONS, ...more])
  return `unknown option ${quoted(name)}${hint}`
}

/**
 * The unknown options of a configuration, as a sentence; undefined if there are none. `more` are
 * options in addition to those of every trace. Configurations in the usual spelling cost a look-up
 * per option.
 */
export function unknownOptions(config: Record<string, unknown>, more: readonly string[] = []): readonly string[] | undefined {
  let found: string[] | undefined
  for (const name in config) {
    if (known.has(name) && name !== 'tracerConfig') continue
    if (name === 'tracerConfig' || name.toLowerCase() === 'tracerconfig') {
      const tracer = config.tracer
      if (typeof tracer !== 'string' || (tracer !== 'muxTracer' && !Object.hasOwn(TRACER_OPTIONS, tracer))) continue
      const inside: string[] = found ?? []
      inTracerConfig(tracer, config[name], inside)
      if (inside.length > 0) found = inside
    } else if (!isIn(TRACE_OPTIONS, name)) {
      found ??= []
      found.push(unknownText(name, config.tracer, more))
    }
    if (found !== undefined && found.length >= REPORTED_MAX) return found
  }
  return found
}

/** The section of docs/rpc.md about options. */
export const optionsSection = (): string[] => [
  '## Options of traces',
  '',
  `The configuration of a trace has these options, in any case: ${TRACE_OPTIONS.map((name) => `\`${name}\``).join(', ')}.`,
  `Traced calls take ${CALL_OPTIONS.map((name) => `\`${name}\``).join(', ')} beside them. \`tracerConfig\` has those of the tracer; a script takes any:`,
  '',
  '| tracer | options |',
  '|---|---|',
  ...Object.entries(TRACER_OPTIONS).map(
    ([tracer, options]) => `| \`${tracer}\` | ${options.map((name) => `\`${name}\``).join(', ') || 'none'} |`,
  ),
  '| `muxTracer` | tracers by name, each with its own options |',
]
