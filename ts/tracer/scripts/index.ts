// Scripts that answer by name.

import type { ScriptName } from '../names.ts'
import { callTracerLegacy } from './calls.ts'
import { evmdisTracer } from './evmdis.ts'
import { fourByteTracerLegacy } from './four-byte.ts'
import { bigramTracer, trigramTracer, unigramTracer } from './grams.ts'
import { prestateTracerLegacy } from './prestate.ts'
import { noopTracerLegacy, opcountTracer } from './small.ts'

const TEXTS: Readonly<Record<ScriptName, string>> = {
  opcountTracer,
  unigramTracer,
  bigramTracer,
  trigramTracer,
  evmdisTracer,
  '4byteTracerLegacy': fourByteTracerLegacy,
  callTracerLegacy,
  prestateTracerLegacy,
  noopTracerLegacy,
}

/** The text of the script of a name. */
export const SCRIPTS: ReadonlyMap<string, string> = new Map(Object.entries(TEXTS))
