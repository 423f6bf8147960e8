// Scripts that answer by name.

import { callTracerLegacy } from './calls.ts'
import { evmdisTracer } from './evmdis.ts'
import { fourByteTracerLegacy } from './four-byte.ts'
import { bigramTracer, trigramTracer, unigramTracer } from './grams.ts'
import { prestateTracerLegacy } from './prestate.ts'
import { noopTracerLegacy, opcountTracer } from './small.ts'

/** Texts by the names that requests use. */
export const SCRIPTS: ReadonlyMap<string, string> = new Map([
  ['opcountTracer', opcountTracer],
  ['unigramTracer', unigramTracer],
  ['bigramTracer', bigramTracer],
  ['trigramTracer', trigramTracer],
  ['evmdisTracer', evmdisTracer],
  ['4byteTracerLegacy', fourByteTracerLegacy],
  ['callTracerLegacy', callTracerLegacy],
  ['prestateTracerLegacy', prestateTracerLegacy],
  ['noopTracerLegacy', noopTracerLegacy],
])
