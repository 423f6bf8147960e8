// Compiler artifacts: which contract a code is, its names, its slots, its lines. Pure, and apart
// from the rest: the page loads it when artifacts are there.
export {
  contractOf,
  contractOfCode,
  contractsAt,
  labelsOf,
  NAMED_MAX,
  type Named,
  NOTHING_NAMED,
  nameOf,
  signaturesOf,
  type Wanted,
  wantedOf,
} from './identify.ts'
export { layoutJson, partValue, readLayout, SlotNames, type SlotPart } from './layout.ts'
export { type Likeness, type Match, Matcher } from './match.ts'
export { mayBeArtifact, readArtifact } from './read.ts'
export { ArtifactSet, type FindSource, type Problem, sourcesOf } from './set.ts'
export { Lines, SourceMap } from './source-map.ts'
export { LINES_SHOWN, lineName, linesText } from './text.ts'
export { BadArtifact, type Build, type Contract, FILE_BYTES_MAX, FILES_MAX, type Layout, READ_BYTES_MAX } from './types.ts'
export {
  type ContractAnswer,
  type GasByLine,
  gasByLine,
  type Line,
  type LineGas,
  type Part,
  type PcRow,
  type ProfiledCode,
  type SourceAnswer,
  type SourceFile,
  SourceLines,
  sourceAnswer,
} from './views.ts'
