// Shows a script what was recorded: steps, and between them the frames, faults and changes of
// memory and state.

import { ADDRESS_BYTES, copyOf, WORD_BYTES } from './bytes.ts'
import { FRAME, FRAME_RESULT, showEntered, showExited } from './calls.ts'
import { type Chunk, chunkOf } from './chunk.ts'
import { FIELD } from './fields.ts'
import { type Frame, innerFrame, writeMemory } from './frames.ts'
import type { Hooks } from './hooks.ts'
import { isEnded } from './interrupt.ts'
import { forgetSteps, LOG, passSteps, runFrame, running, setError, settleStack, showColumns, shownStep, showSteps } from './log.ts'
import { nameOf } from './opcodes.ts'
import { Bytes, float64At, Int32s, min, uint32At } from './primordials.ts'
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

/** How far a chunk was gone through. */
interface Place {
  readonly chunk: Chunk
  /** Whether its columns are the ones that are shown. */
  isShown: boolean
  /** Steps of it that the script has seen, or sees. */
  steps: number
  /** Events that were taken, and where the next one begins. */
  events: number
  at: number
}

/** Shows a script what was recorded. */
export interface Replay {
  /** Shows what is in a chunk. */
  show(buffer: ArrayBuffer): void
  /**
   * Goes through the transaction again, in other chunks, up to the moment that the script is at,
   * without a call; continues from there.
   */
  again(nextChunk: () => ArrayBuffer): void
}

/**
 * Makes the replay of one transaction. `calling` gets the name of the script's function before each
 * call.
 */
export function events(hooks: Hooks, recorded: () => number, stateNow: () => State, db: object, calling: (hook: string) => void): Replay {
  const { step, fault, enter, exit } = hooks
  let place: Place
  /**
   * Steps shown, frames begun and ended, and faults up to now: the same whatever else is recorded.
   */
  let moments = 0
  /** What `moments` is before step 0 of the chunk, while its steps are shown. */
  let momentsBefore: number | undefined
  /** Moments that the script has seen already. */
  let seen = 0
  const isNew = (): boolean => moments >= seen

  const hasInput = (): boolean => (recorded() & (FIELD.input | FIELD.frames)) !== 0
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
      input: op === CREATE || op === CREATE2 ? new Bytes(0) : hasInput() || running === undefined ? input : undefined,
    }
    runFrame(innerFrame(running, contract, stateNow().mark()))
    const isCalled = isNew()
    moments++
    if (enter === undefined || (flags & SHOWN) === 0 || !isCalled) return
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
    if ((flags & FAILED) !== 0) stateNow().revert(ended.mark)
    runFrame(ended.outer)
    const isCalled = isNew()
    moments++
    if (exit === undefined || (flags & SHOWN) === 0 || !isCalled) return
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
    const isCalled = isNew()
    moments++
    if (!isCalled) return
    calling('fault')
    fault(LOG, db)
  }

  const onEvent = (chunk: Chunk, kind: number, at: number, length: number): void => {
    if (kind === EVENT.enter) onEnter(chunk, at, length)
    else if (kind === EVENT.exit) onExit(chunk, at, length)
    else if (kind === EVENT.fault) onFault(chunk, at, length)
    else if (kind === EVENT.memory) writeMemory(running as Frame, uint32At(chunk.view, at, true), part(chunk, at + 4, length - 4))
    else if (kind === EVENT.account) stateNow().accountChanged(part(chunk, at, length))
    else if (kind === EVENT.slot) stateNow().slotChanged(part(chunk, at, length))
    else if (kind === EVENT.code) stateNow().codeChanged(part(chunk, at, length))
    else if (kind === EVENT.wiped) stateNow().storageWiped(part(chunk, at, length))
    else throw new Error(`event ${kind} is unknown`)
  }

  const open = (buffer: ArrayBuffer): void => {
    const chunk = chunkOf(buffer)
    place = { chunk, isShown: false, steps: 0, events: 0, at: chunk.eventsAt }
  }

  const showChunk = (): void => {
    if (!place.isShown) showColumns(place.chunk.columns)
    place.isShown = true
  }

  /** Shows the steps up to this one: those that the script has seen without a call. */
  const showTo = (to: number, call: NonNullable<typeof step>): void => {
    showChunk()
    const from = place.steps
    if (!isNew()) {
      const until = min(to, from + seen - moments)
      moments += until - from
      place.steps = until
      passSteps(until)
      return
    }
    const here = place
    place.steps = to
    momentsBefore = moments - from
    calling('step')
    showSteps(from, to, call, db)
    if (place !== here) return
    moments = momentsBefore + to
    momentsBefore = undefined
  }

  /**
   * The step at which the event stands is one whose opcode fails before it runs: getError says so
   * in it.
   */
  const showFailing = (chunk: Chunk, at: number, length: number): void => {
    if (step === undefined) return
    showChunk()
    setError(textOf(chunk.bytes, at, at + length), place.steps)
    showTo(place.steps + 1, step)
  }

  const takeEvent = (): void => {
    const { chunk, at } = place
    const kind = chunk.bytes[at + 4] as number
    const length = uint32At(chunk.view, at + 8, true)
    const payload = at + EVENT_HEADER_BYTES
    // Before what the script does: it may replace the place.
    place.events++
    place.at = payload + ((length + 3) & -4)
    if (kind === EVENT.error) showFailing(chunk, payload, length)
    else onEvent(chunk, kind, payload, length)
  }

  /** Continues to the end of the chunk, or to what is new where the script has seen the rest. */
  const play = (isAgain: boolean): void => {
    while (!isEnded() && !(isAgain && isNew())) {
      const { chunk, events, steps } = place
      const hasEvent = events < chunk.events
      const to = hasEvent ? uint32At(chunk.view, place.at, true) : chunk.columns.steps
      if (step !== undefined && steps < to) showTo(to, step)
      else if (hasEvent) takeEvent()
      else return
    }
  }

  return {
    show: (buffer) => {
      open(buffer)
      play(false)
    },
    again: (nextChunk) => {
      seen = momentsBefore === undefined ? moments : momentsBefore + shownStep() + 1
      moments = 0
      momentsBefore = undefined
      forgetSteps()
      do {
        open(nextChunk())
        play(true)
      } while (!isNew() && !isEnded())
    },
  }
}
