// The built-in tracers. `npm run docs` writes them from the table in crates/tracers/src/table.rs.

/** A built-in tracer. */
export interface TracerRow {
  /** The name in requests. */
  readonly name: string
  /** Names of the options in `tracerConfig`. */
  readonly options: readonly string[]
  /** The field of the bake configuration that may name the tracer; null for none. */
  readonly baked: 'tracers' | 'furtherTracers' | null
}

/** All of them. */
export const TRACER_TABLE: readonly TracerRow[] = [
  { name: 'callTracer', options: ['onlyTopCall', 'withLog'], baked: 'tracers' },
  { name: 'prestateTracer', options: ['diffMode', 'disableCode', 'disableStorage', 'includeEmpty'], baked: 'tracers' },
  { name: 'flatCallTracer', options: ['convertParityErrors', 'includePrecompiles'], baked: 'tracers' },
  { name: 'parityTracer', options: ['types', 'form', 'traceAddress', 'elements', 'withHash'], baked: 'furtherTracers' },
  { name: '4byteTracer', options: [], baked: null },
  { name: 'noopTracer', options: [], baked: null },
  { name: 'muxTracer', options: [], baked: null },
  { name: 'erc7562Tracer', options: ['ignoredOpcodes', 'stackTopItemsSize', 'withLog'], baked: null },
  { name: 'keccak256PreimageTracer', options: [], baked: null },
  {
    name: 'opcodeTracer',
    options: ['enableMemory', 'disableStack', 'disableStorage', 'enableReturnData', 'limit', 'overrides'],
    baked: null,
  },
]
