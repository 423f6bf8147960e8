// Requests for steps: whose steps, and the options of each method. Ranges and names of instructions
// are checked in the core.
import type { BlockRef, Hex, JsonObject, StepsOf } from '../../core/port.ts'
import { blockRef } from './block.ts'
import { blockOverrides, stateOverrides, transaction } from './call.ts'
import { arrayOf, BadValue, boolean, type Codec, kindOf, object, part, word } from './codec.ts'
import { address, hash, quantity, uint64 } from './hex.ts'

/** Entries of one list; the core allows fewer where they are marks. */
const ENTRIES_MAX = 100_000

/** A whole number that JSON and JavaScript hold exactly. */
const count: Codec<number> = (value) => {
  if (typeof value !== 'number') throw new BadValue(`cannot use ${kindOf(value)} as a number`)
  if (!Number.isSafeInteger(value) || value < 0) throw new BadValue(`cannot use ${value} as a number from 0 on`)
  return value
}

/** Numbers of frames, and places in code, have 32 bits. */
const UINT32_MAX = 2 ** 32 - 1

const uint32: Codec<number> = (value) => {
  const number = count(value)
  if (number > UINT32_MAX) throw new BadValue(`cannot use ${number} as a number of at most ${UINT32_MAX}`)
  return number
}

type Shape = Readonly<Record<string, Codec<unknown>>>

/** An object with these fields, each checked if present; null is absence. The core refuses more. */
const shaped =
  (shape: Shape): Codec<JsonObject> =>
  (value) => {
    const from = object(value)
    const into: Record<string, unknown> = {}
    for (const [name, entry] of Object.entries(from)) {
      if (entry === null || entry === undefined) continue
      const codec = Object.hasOwn(shape, name) ? shape[name] : undefined
      into[name] = codec === undefined ? entry : part(name, codec, entry)
    }
    return into
  }

/** Options of a method of steps: those of the core, and the time limit. */
export interface StepOptions {
  readonly options: JsonObject
  readonly timeout: string | undefined
}

/** Options with a time limit beside them. */
function timed(shape: Shape): Codec<StepOptions> {
  const codec = shaped({ ...shape, timeout: word })
  return (value) => {
    const { timeout, ...options } = codec(value)
    return { options, timeout: timeout as string | undefined }
  }
}

const name = (...known: readonly string[]): Codec<string> => {
  return (value) => {
    const given = word(value)
    if (!known.includes(given)) throw new BadValue(`cannot use ${JSON.stringify(given)}: one of ${known.join(', ')}`)
    return given
  }
}

/** A name of an instruction, or several. */
const instructions: Codec<unknown> = (value) => (Array.isArray(value) ? arrayOf(word, 256)(value) : word(value))

const number256 = quantity(256)

/** A word of 32 bytes with or without its leading zeros. */
const anyWord: Codec<string> = (value) => (typeof value === 'string' && value.length === 66 ? hash(value) : number256(value))

/** The options of debug_traceStepIndex. */
export const indexOptions = timed({})

/** The options of debug_traceSteps. */
export const rangeOptions = timed({
  from: count,
  to: count,
  frame: uint32,
  own: boolean,
  fields: arrayOf(name('stack', 'storage', 'returnData'), 3),
  stackTop: uint32,
  memory: shaped({ offset: count, length: count }),
})

/** The options of debug_traceStepSearch. */
export const searchOptions = timed({
  from: count,
  backwards: boolean,
  count,
  where: shaped({
    op: instructions,
    pc: count,
    address,
    slot: anyWord,
    topic: anyWord,
    depth: count,
    frame: uint32,
    gasCostAtLeast: count,
    error: boolean,
  }),
})

/** The options of debug_traceGasProfile. */
export const profileOptions = timed({
  by: name('pc', 'opcode', 'frame'),
  marks: arrayOf(shaped({ hash, init: boolean, in: arrayOf(uint32, ENTRIES_MAX), out: arrayOf(uint32, ENTRIES_MAX) }), ENTRIES_MAX),
})

const call = shaped({ transaction, block: blockRef, txIndex: uint64, stateOverrides, blockOverrides })

/** A call to step through: `{transaction, block, txIndex?, stateOverrides?, blockOverrides?}`. */
const steppedCall: Codec<StepsOf> = (value) => {
  const { transaction, block = 'latest', txIndex, stateOverrides, blockOverrides, ...others } = call(value)
  if (transaction === undefined) throw new BadValue('a hash, or an object with transaction and block, is needed')
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new BadValue(`unknown field ${JSON.stringify(unknown)}`)
  return {
    call: {
      transaction: transaction as JsonObject,
      block: block as BlockRef,
      txIndex: txIndex as Hex | undefined,
      stateOverrides: stateOverrides as JsonObject | undefined,
      blockOverrides: blockOverrides as JsonObject | undefined,
    },
  }
}

/** Whose steps: the hash of a transaction, or a call. */
export const stepsOf: Codec<StepsOf> = (value) => (typeof value === 'string' ? { hash: hash(value) } : steppedCall(value))

/** The same, or a whole block: `{block}` alone. */
export const stepsOrBlock: Codec<StepsOf> = (value) => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !('transaction' in value) && 'block' in value) {
    const { block, ...others } = value as { block: unknown }
    const [unknown] = Object.keys(others)
    if (unknown !== undefined) throw new BadValue(`unknown field ${JSON.stringify(unknown)} beside block`)
    return { block: part('block', blockRef, block) }
  }
  return stepsOf(value)
}
