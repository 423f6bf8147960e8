// Types of JavaScript tracers, and a way to write one as an object of functions.

/** A number of the big-integer library that scripts have; the members that tracers use most. */
export interface BigNumber {
  toString(radix?: number): string
  toJSNumber(): number
  equals(other: BigNumber | number | string): boolean
  greater(other: BigNumber | number | string): boolean
  lesser(other: BigNumber | number | string): boolean
  add(other: BigNumber | number | string): BigNumber
  subtract(other: BigNumber | number | string): BigNumber
  multiply(other: BigNumber | number | string): BigNumber
  isZero(): boolean
}

/** Bytes that a script may hand over: of an address or a key. */
export type ScriptBytes = Uint8Array | readonly number[]

/** The step that is shown. */
export interface ScriptLog {
  readonly op: { toNumber(): number; toString(): string; isPush(): boolean }
  readonly stack: { peek(places: number): BigNumber; length(): number }
  readonly memory: { slice(begin: number, end: number): Uint8Array; getUint(offset: number): BigNumber; length(): number }
  readonly contract: { getCaller(): Uint8Array; getAddress(): Uint8Array; getValue(): BigNumber; getInput(): Uint8Array }
  getPC(): number
  /** Gas before the instruction. */
  getGas(): number
  getCost(): number
  /** Depth of the frame, from 1. */
  getDepth(): number
  getRefund(): number
  getError(): string | undefined
}

/** State as of the step that is shown. */
export interface ScriptDb {
  /** Wei. */
  getBalance(address: ScriptBytes): BigNumber
  getNonce(address: ScriptBytes): number
  getCode(address: ScriptBytes): Uint8Array
  getState(address: ScriptBytes, key: ScriptBytes): Uint8Array
  exists(address: ScriptBytes): boolean
}

/** A frame that begins. */
export interface ScriptFrame {
  getType(): string
  getFrom(): Uint8Array
  getTo(): Uint8Array
  getInput(): Uint8Array
  getGas(): number
  getValue(): BigNumber | undefined
}

/** How it ended. */
export interface ScriptFrameResult {
  getGasUsed(): number
  getOutput(): Uint8Array
  getError(): string | undefined
}

/** The transaction. */
export interface ScriptContext {
  readonly type: 'CALL' | 'CREATE'
  readonly from: Uint8Array
  readonly to: Uint8Array
  readonly input: Uint8Array
  readonly output: Uint8Array
  readonly gas: number
  readonly gasUsed: number
  readonly gasPrice: BigNumber
  readonly value: BigNumber
  readonly block: number
  readonly coinbase: Uint8Array
  readonly blockHash?: Uint8Array
  readonly txHash?: Uint8Array
  readonly txIndex?: number
  readonly error?: string
}

/** The functions of a tracer. `fault` may be left out here; `enter` and `exit` come together. */
export interface ScriptHooks<T = unknown> {
  setup?(config: string): void
  step?(log: ScriptLog, db: ScriptDb): void
  fault?(log: ScriptLog, db: ScriptDb): void
  enter?(frame: ScriptFrame): void
  exit?(result: ScriptFrameResult): void
  result(context: ScriptContext, db: ScriptDb): T
}

/** Whether a text is an expression; a method in short form is none. */
function isExpression(text: string): boolean {
  try {
    new Function(`return (${text})`)
    return true
  } catch {
    return false
  }
}

function member(name: string, value: unknown): string {
  if (typeof value !== 'function') return `${JSON.stringify(name)}:${JSON.stringify(value)}`
  const text = Function.prototype.toString.call(value)
  return isExpression(text) ? `${JSON.stringify(name)}:${text}` : text
}

/**
 * The text of a tracer from functions and what they find in `this`, to be given as `tracer` in the
 * configuration of a trace.
 *
 * The functions run in a process of their own: they see what they are given, `this` and the globals
 * of scripts, and nothing of what stands around them here. The state goes over as JSON, once for
 * each transaction.
 */
export function scriptOf<S extends object>(hooks: ScriptHooks & ThisType<S>, state?: S): string {
  const all: Record<string, unknown> = { ...state, fault: () => undefined, ...hooks }
  return `{${Object.entries(all)
    .map(([name, value]) => member(name, value))
    .join(',\n')}}`
}
