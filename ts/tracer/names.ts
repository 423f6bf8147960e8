// Names of the scripts that come with the node.

/** The names that requests use. */
export const SCRIPT_NAMES = [
  'opcountTracer',
  'unigramTracer',
  'bigramTracer',
  'trigramTracer',
  'evmdisTracer',
  '4byteTracerLegacy',
  'callTracerLegacy',
  'prestateTracerLegacy',
  'noopTracerLegacy',
] as const

/** One of them. */
export type ScriptName = (typeof SCRIPT_NAMES)[number]
