// Shows a script what was recorded: steps, and between them the frames, faults and changes of memory and state.

import { ADDRESS_BYTES, copyOf, WORD_BYTES } from './bytes.ts'
import { FRAME, FRAME_RESULT, showEntered, showExited } from './calls.ts'
import { type Chunk, chunkOf } from './chunk.ts'
import { FIELD } from './fields.ts'
import { type Frame, innerFrame, writeMemory } from './frames.ts'
import type { Hooks } from './hooks.ts'
import { isEnded } from './interrupt.ts'
import { LOG, runFrame, running, setError, settleStack, showColumns, showSteps } from './log.ts'
import { nameOf } from './opcodes.ts'
import { Bytes, float64At, Int32s, uint32At } from './primordials.ts'
import type { State } from './state.ts'
import { textOf } from './text.ts'

/** Kinds of events; the numbers are those of the channel. */
const EVENT = { enter: 1, exit: 2, fault: 3, memory: 4, account: 5, slot: 6, code: 7, wiped: 8, error: 9 } as const

const EVENT_HEADER_BYTES = 12

const CREATE = 0xf0
const CREATE2 = 0xf5

/** Flags of ENTER. */
const SHOWN = 1
const HAS_VALUE = 2
/** Flag of EXIT beside SHOWN. */
const FAILED = 2

/** Places in the payload of ENTER. */
const ENTER = { gas: 4, from: 12, to: 32, value: 52, caller: 84, address: 104, contractValue: 124, input: 156 } as const
/** Places in the payload of EXIT. */
const EXIT = { errorLength: 4, gasUsed: 8, error: 16 } as const

/** A function that shows one chunk after the other. `running` is told which function of the script is called next. */
export function events(
  hooks: Hooks,
  recorded: number,
  state: State,
  db: object,
  calling: (hook: string) => void,
): (buffer: ArrayBuffer) => void {
  const { step, fault, enter, exit } = hooks
  const hasInput = (recorded & (FIELD.input | FIELD.frames)) !== 0

  const word = (chunk: Chunk, at: number): Int32Array => {
    const words = new Int32s(WORD_BYTES / 4)
    for (let i = 0; i < WORD_BYTES / 4; i++) words[i] = uint32At(chunk.view, at + 4 * i, true)
    return words
  }
  const part = (chunk: Chunk, at: number, length: number) => new Bytes(chunk.bytes.buffer, at, length)

  const onEnter = (chunk: Chunk, at: number, length: number): void => {
    settleStack()
    const op = chunk.bytes[at] as number
    const flags = chunk.bytes[at + 1] as number
    const input = copyOf(part(chunk, at + ENTER.input, length - ENTER.input))
    const contract = {
      caller: part(chunk, at + ENTER.caller, ADDRESS_BYTES),
      address: part(chunk, at + ENTER.address, ADDRESS_BYTES),
      value: word(chunk, at + ENTER.contractValue),
      // Code that makes a contract has no input, though the frame shows the code itself as one.
      input: op === CREATE || op === CREATE2 ? new Bytes(0) : hasInput || running === undefined ? input : undefined,
    }
    runFrame(innerFrame(running, contract, state.mark()))
    if (enter === undefined || (flags & SHOWN) === 0) return
    showEntered({
      type: nameOf(op),
      from: copyOf(part(chunk, at + ENTER.from, ADDRESS_BYTES)),
      to: copyOf(part(chunk, at + ENTER.to, ADDRESS_BYTES)),
      input,
      gas: float64At(chunk.view, at + ENTER.gas, true),
      value: (flags & HAS_VALUE) === 0 ? undefined : word(chunk, at + ENTER.value),
    })
    calling('enter')
    enter(FRAME)
  }

  const onExit = (chunk: Chunk, at: number, length: number): void => {
    settleStack()
    const ended = running as Frame
    const flags = chunk.bytes[at] as number
    if ((flags & FAILED) !== 0) state.revert(ended.mark)
    runFrame(ended.outer)
    if (exit === undefined || (flags & SHOWN) === 0) return
    const outputAt = at + EXIT.error + uint32At(chunk.view, at + EXIT.errorLength, true)
    showExited({
      gasUsed: float64At(chunk.view, at + EXIT.gasUsed, true),
      error: outputAt === at + EXIT.error ? undefined : textOf(chunk.bytes, at + EXIT.error, outputAt),
      output: copyOf(part(chunk, outputAt, at + length - outputAt)),
    })
    calling('exit')
    exit(FRAME_RESULT)
  }

  const onFault = (chunk: Chunk, at: number, length: number): void => {
    setError(textOf(chunk.bytes, at, at + length))
    calling('fault')
    fault(LOG, db)
  }

  const onEvent = (chunk: Chunk, kind: number, at: number, length: number): void => {
    if (kind === EVENT.enter) onEnter(chunk, at, length)
    else if (kind === EVENT.exit) onExit(chunk, at, length)
    else if (kind === EVENT.fault) onFault(chunk, at, length)
    else if (kind === EVENT.memory) writeMemory(running as Frame, uint32At(chunk.view, at, true), part(chunk, at + 4, length - 4))
    else if (kind === EVENT.account) state.accountChanged(part(chunk, at, length))
    else if (kind === EVENT.slot) state.slotChanged(part(chunk, at, length))
    else if (kind === EVENT.code) state.codeChanged(part(chunk, at, length))
    else if (kind === EVENT.wiped) state.storageWiped(part(chunk, at, length))
    else throw new Error(`event ${kind} is unknown`)
  }

  return (buffer) => {
    const chunk = chunkOf(buffer)
    const { steps } = chunk.columns
    let done = 0
    const show = (to: number): void => {
      if (to === done || step === undefined) return
      if (done === 0) showColumns(chunk.columns)
      calling('step')
      showSteps(done, to, step, db)
      done = to
    }
    for (let i = 0, at = chunk.eventsAt; i < chunk.events; i++) {
      show(uint32At(chunk.view, at, true))
      if (isEnded()) return
      const kind = chunk.bytes[at + 4] as number
      const length = uint32At(chunk.view, at + 8, true)
      const payload = at + EVENT_HEADER_BYTES
      if (kind === EVENT.error) showFailing(chunk, payload, length)
      else onEvent(chunk, kind, payload, length)
      at = payload + ((length + 3) & -4)
    }
    show(steps)

    /** The step at which the event stands is one whose opcode fails before it runs: getError says so in it. */
    function showFailing(from: Chunk, at: number, length: number): void {
      if (step === undefined) return
      if (done === 0) showColumns(from.columns)
      const text = textOf(from.bytes, at, at + length)
      setError(text, done)
      show(done + 1)
    }
  }
}
