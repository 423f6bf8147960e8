// What built-in tracers take and give: the JSON that debug_trace* answers, with its quantities as
// `0x` text.
import type { Hex } from '../values.ts'

/** A log in a call frame. */
export interface CallLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  /** Its place among the frame's logs and calls. */
  readonly position: Hex
  /** Its place among the logs of the transaction. */
  readonly index: Hex
}

/** The kinds of frames. */
export type CallType = 'CALL' | 'CALLCODE' | 'DELEGATECALL' | 'STATICCALL' | 'CREATE' | 'CREATE2' | 'SELFDESTRUCT'

/** What every tracer of calls says of a frame. */
export interface CallFrameBase {
  readonly type: CallType
  readonly from: Hex
  readonly to?: Hex
  readonly value?: Hex
  readonly gas: Hex
  readonly gasUsed: Hex
  readonly input: Hex
  readonly output?: Hex
  readonly error?: string
  /** The words of a revert, where they decode. */
  readonly revertReason?: string
}

/** Options of `callTracer`. */
export interface CallTracerConfig {
  readonly withLog?: boolean
  readonly onlyTopCall?: boolean
}

/**
 * A call with those within it; `logs` where `withLog` is set, no `calls` where `onlyTopCall` is.
 */
export type CallFrame<C extends CallTracerConfig = CallTracerConfig> = CallFrameBase &
  (C extends { readonly withLog: true } ? { readonly logs?: readonly CallLog[] } : unknown) &
  (C extends { readonly onlyTopCall: true } ? unknown : { readonly calls?: readonly CallFrame<C>[] })

/** Options of `prestateTracer`. */
export interface PrestateTracerConfig {
  readonly diffMode?: boolean
  readonly disableCode?: boolean
  readonly disableStorage?: boolean
  readonly includeEmpty?: boolean
}

/** An account as it was, or what of it changed. */
export interface AccountState {
  readonly balance?: Hex
  readonly nonce?: number
  readonly code?: Hex
  readonly codeHash?: Hex
  readonly storage?: Readonly<Record<Hex, Hex>>
}

/** Accounts by address. */
export type Prestate = Readonly<Record<Hex, AccountState>>

/** What `prestateTracer` gives with `diffMode`. */
export interface StateDiff {
  readonly pre: Prestate
  readonly post: Prestate
}

/** Options of `flatCallTracer`. */
export interface FlatCallTracerConfig {
  readonly convertParityErrors?: boolean
  readonly includePrecompiles?: boolean
}

/** What every frame of `flatCallTracer` has. */
export interface FlatCallBase {
  readonly blockHash: Hex | null
  readonly blockNumber: number
  readonly transactionHash: Hex | null
  readonly transactionPosition: number
  readonly subtraces: number
  readonly traceAddress: readonly number[]
  readonly error?: string
}

/** A frame as `flatCallTracer` has it. */
export type FlatCall =
  | (FlatCallBase & {
      readonly type: 'call'
      readonly action: {
        readonly callType: 'call' | 'callcode' | 'delegatecall' | 'staticcall'
        readonly from: Hex
        readonly to: Hex
        readonly gas: Hex
        readonly input: Hex
        readonly value: Hex
      }
      readonly result?: { readonly gasUsed: Hex; readonly output: Hex }
    })
  | (FlatCallBase & {
      readonly type: 'create'
      readonly action: {
        readonly creationMethod: 'create' | 'create2'
        readonly from: Hex
        readonly gas: Hex
        readonly init: Hex
        readonly value: Hex
      }
      readonly result?: { readonly address: Hex; readonly code: Hex; readonly gasUsed: Hex }
    })
  | (FlatCallBase & {
      readonly type: 'suicide'
      readonly action: { readonly address: Hex; readonly balance: Hex; readonly refundAddress: Hex }
      readonly result?: null
    })

/** Options of the struct logger and of `opcodeTracer`. */
export interface StructLogConfig {
  readonly enableMemory?: boolean
  readonly disableStack?: boolean
  readonly disableStorage?: boolean
  readonly enableReturnData?: boolean
  /** Bytes of steps after which no more are given; 0 for no limit. */
  readonly limit?: number
}

/** One instruction. */
export interface StructLog {
  readonly pc: number
  readonly op: string
  /** Gas before it. */
  readonly gas: number
  readonly gasCost: number
  /** Depth of the frame, from 1. */
  readonly depth: number
  readonly refund?: number
  readonly error?: string
  readonly stack?: readonly Hex[]
  readonly memory?: readonly Hex[]
  readonly returnData?: Hex
  readonly storage?: Readonly<Record<string, string>>
}

/** How a transaction under the struct logger ended. */
export interface StructLogSummary {
  readonly gas: number
  readonly failed: boolean
  readonly returnValue: Hex
}

/** What a trace without a tracer gives. */
export interface StructLogs extends StructLogSummary {
  readonly structLogs: readonly StructLog[]
}

/** What `opcodeTracer` gives: the struct logs, and a summary by opcode. */
export interface OpcodeTrace extends StructLogs {
  readonly summary: Readonly<Record<string, { readonly count: number; readonly totalGas: number }>>
}

/** Options of `erc7562Tracer`. */
export interface Erc7562TracerConfig {
  readonly withLog?: boolean
  readonly ignoredOpcodes?: readonly Hex[]
  /** Accepted as in go-ethereum; no result depends on it. */
  readonly stackTopItemsSize?: number
}

/** A frame as `erc7562Tracer` has it: a call with what account abstraction forbids or limits. */
export interface Erc7562Frame extends CallFrameBase {
  readonly accessedSlots: {
    readonly reads: Readonly<Record<Hex, readonly Hex[]>>
    readonly writes: Readonly<Record<Hex, number>>
    readonly transientReads: Readonly<Record<Hex, number>>
    readonly transientWrites: Readonly<Record<Hex, number>>
  }
  readonly contractSize: Readonly<Record<Hex, { readonly contractSize: number; readonly opcode: number }>>
  readonly extCodeAccessInfo: readonly Hex[]
  readonly usedOpcodes: Readonly<Record<Hex, number>>
  readonly outOfGas: boolean
  readonly keccak?: readonly Hex[]
  readonly logs?: readonly CallLog[]
  readonly calls?: readonly Erc7562Frame[]
}

/** Options of `parityTracer`. */
export interface ParityTracerConfig {
  /** What is wanted of a replay; `trace` where absent. */
  readonly types?: readonly ('trace' | 'stateDiff' | 'vmTrace')[]
}

/** A call as `trace_replayTransaction` has it. */
export interface ParityTrace {
  readonly type: 'call' | 'create' | 'suicide'
  readonly action: Readonly<Record<string, Hex>>
  readonly result?: Readonly<Record<string, Hex>> | null
  readonly error?: string
  readonly revertReason?: Hex
  readonly subtraces: number
  readonly traceAddress: readonly number[]
}

/** A value before and after: unchanged, changed, of a new account, of one that is gone. */
export type ParityChange = '=' | { readonly '*': { readonly from: Hex; readonly to: Hex } } | { readonly '+': Hex } | { readonly '-': Hex }

/** What a transaction changed of an account. */
export interface ParityAccountDiff {
  readonly balance: ParityChange
  readonly code: ParityChange
  readonly nonce: ParityChange
  readonly storage: Readonly<Record<Hex, ParityChange>>
}

/** The instructions of a frame. */
export interface ParityVmTrace {
  readonly code: Hex
  readonly ops: readonly {
    readonly pc: number
    /** Gas, that of a call with what goes along. */
    readonly cost: number
    readonly ex: {
      readonly mem: { readonly data: Hex; readonly off: number } | null
      readonly push: readonly Hex[]
      readonly store: { readonly key: Hex; readonly val: Hex } | null
      /** Gas left. */
      readonly used: number
    } | null
    readonly sub: ParityVmTrace | null
  }[]
}

/** The result of `parityTracer`; parts that were not requested are null, but `trace` is empty. */
export interface ParityReplay {
  readonly output: Hex
  readonly trace: readonly ParityTrace[]
  readonly stateDiff: Readonly<Record<Hex, ParityAccountDiff>> | null
  readonly vmTrace: ParityVmTrace | null
}

/** Options of `muxTracer`: the options of tracers by their names. */
export type MuxTracerConfig = { readonly [N in Exclude<TracerName, 'muxTracer' | 'structLogs'>]?: TracerConfig<N> }

/** The options of each built-in tracer. */
export interface TracerConfigs {
  readonly callTracer: CallTracerConfig
  readonly prestateTracer: PrestateTracerConfig
  readonly flatCallTracer: FlatCallTracerConfig
  readonly parityTracer: ParityTracerConfig
  readonly opcodeTracer: StructLogConfig
  readonly erc7562Tracer: Erc7562TracerConfig
  readonly '4byteTracer': Readonly<Record<string, never>>
  readonly noopTracer: Readonly<Record<string, never>>
  readonly keccak256PreimageTracer: Readonly<Record<string, never>>
  readonly muxTracer: MuxTracerConfig
  readonly structLogs: StructLogConfig
}

/** The built-in tracers; `structLogs` is the trace without a tracer. */
export type TracerName = keyof TracerConfigs

/** The options of a tracer. */
export type TracerConfig<N extends TracerName> = TracerConfigs[N]

/** The results of a `muxTracer`, by the names of its tracers. */
export type MuxResult<C> = { readonly [N in keyof C]: N extends TracerName ? TraceResult<N, C[N]> : unknown }

/** What a tracer gives under its options. */
export type TraceResult<N extends TracerName, C = unknown> = N extends 'callTracer'
  ? CallFrame<C extends CallTracerConfig ? C : CallTracerConfig>
  : N extends 'prestateTracer'
    ? C extends { readonly diffMode: true }
      ? StateDiff
      : Prestate
    : N extends 'flatCallTracer'
      ? readonly FlatCall[]
      : N extends 'parityTracer'
        ? ParityReplay
        : N extends 'opcodeTracer'
          ? OpcodeTrace
          : N extends 'erc7562Tracer'
            ? Erc7562Frame
            : N extends '4byteTracer'
              ? Readonly<Record<string, number>>
              : N extends 'noopTracer'
                ? Readonly<Record<string, never>>
                : N extends 'keccak256PreimageTracer'
                  ? Readonly<Record<Hex, Hex>>
                  : N extends 'muxTracer'
                    ? MuxResult<C>
                    : StructLogs
