// What `enter` and `exit` of a script are given: one object each, shown again at every call.
import { bigOfWord } from './big.ts'
import { copyOf } from './bytes.ts'
import { Bytes, Int32s } from './primordials.ts'

/** A frame that begins. */
export interface Entered {
  readonly type: string
  readonly from: Uint8Array
  readonly to: Uint8Array
  readonly input: Uint8Array
  readonly gas: number
  /** Eight 32-bit pieces; undefined where the frame has no value. */
  readonly value: Int32Array | undefined
}

/** A frame that ended. */
export interface Exited {
  readonly gasUsed: number
  readonly output: Uint8Array
  readonly error: string | undefined
}

const nothing = new Bytes(0)

const NO_FRAME: Entered = { type: 'STOP', from: new Bytes(20), to: new Bytes(20), input: nothing, gas: 0, value: new Int32s(8) }
const NO_RESULT: Exited = { gasUsed: 0, output: nothing, error: undefined }

let entered = NO_FRAME
let exited = NO_RESULT

/** Forgets every frame. */
export function forgetCalls(): void {
  entered = NO_FRAME
  exited = NO_RESULT
}

export const FRAME = {
  getType: (): string => entered.type,
  getFrom: (): Uint8Array => copyOf(entered.from),
  getTo: (): Uint8Array => copyOf(entered.to),
  getInput: (): Uint8Array => copyOf(entered.input),
  getGas: (): number => entered.gas,
  getValue: (): object | undefined => (entered.value === undefined ? undefined : bigOfWord(entered.value, 0)),
}

export const FRAME_RESULT = {
  getGasUsed: (): number => exited.gasUsed,
  getOutput: (): Uint8Array => copyOf(exited.output),
  getError: (): string | undefined => exited.error,
}

/** Lets `FRAME` show a frame. */
export function showEntered(frame: Entered): void {
  entered = frame
}

/** Lets `FRAME_RESULT` show a frame's end. */
export function showExited(result: Exited): void {
  exited = result
}
