// The inside for hooks of this very process: functions with all that they close over, called in the
// realm where they were made. Nothing of that realm is changed.
import { FRAME, FRAME_RESULT, forgetCalls } from './calls.ts'
import { dbOver } from './db.ts'
import { events, type Replay } from './events.ts'
import { forgetArenas } from './frames.ts'
import { type Bind, fieldsFor, type Hooks, hooksOf } from './hooks.ts'
import { fetchWith, finalise, forgetEnd, interruption, isStopped, stop } from './interrupt.ts'
import { forgetSteps, LOG, setRecorded } from './log.ts'
import { contextOf } from './result.ts'
import { type ReadState, State } from './state.ts'

/** The data that the hooks need from the recorder. */
export interface Recorder {
  /** Reads the state before the transaction, while this thread waits. */
  readonly read: ReadState
  /**
   * Has the transaction recorded again with these fields too, while this thread waits: gives the
   * fields that are recorded from now on, undefined where nothing more is wanted.
   */
  more(fields: number): number | undefined
  /** The next chunk, while this thread waits; undefined where there is none. */
  nextChunk(): ArrayBuffer | undefined
}

/** What calls the hooks. */
export interface Own {
  /** Begins a transaction; the fields to record. `known`: those that were found before. */
  begin(config: string, known: number | null): number
  /** From here on the transaction is recorded, with these fields. */
  run(fields: number): void
  /** Shows a chunk. Throws what a hook throws. */
  show(chunk: ArrayBuffer): void
  /** What `result` returns. `context`: the JSON of `ctx`. */
  result(context: string): unknown
  /** The hook that was called last. */
  hook(): string
  /**
   * The error that a hook was interrupted with, also where it caught that; undefined where it was
   * not.
   */
  interruption(): unknown
  /** Whether the transaction was given up while a hook waited for something. */
  isStopped(): boolean
  /**
   * The trace is over: nothing of it is referenced any more, and what a hook kept reads as nothing.
   * Whether this code may call the hooks of another trace: not where a hook changed one of the
   * objects that it was given.
   */
  end(): boolean
}

/** What hooks are given, the same objects in every trace, and their members as they are made. */
const GIVEN = [LOG, LOG.op, LOG.stack, LOG.memory, LOG.contract, FRAME, FRAME_RESULT].map((object) => ({
  object,
  members: Object.entries(object),
}))

/** Whether no hook changed what hooks are given. */
const isUnchanged = (): boolean =>
  GIVEN.every(({ object, members }) => {
    const isSame = ([name, value]: [string, unknown]): boolean => Object.getOwnPropertyDescriptor(object, name)?.value === value
    return Reflect.ownKeys(object).length === members.length && Object.isExtensible(object) && members.every(isSame)
  })

/**
 * The texts of the functions: words in them are hints to what they look at. A hook that looks at
 * more is made to wait for it.
 */
function textOf(script: Record<string, unknown>): string {
  let text = ''
  for (const name in script) {
    const value = script[name]
    if (typeof value === 'function') text += Function.prototype.toString.call(value)
  }
  return text
}

/**
 * A function that calls a hook, which has two arguments at most. A bound function, of which each
 * trace would make another one, takes V8 up to a tenth longer.
 */
const called: Bind = (fn, self) => (first, second) => fn.call(self, first, second)

/** Calls some hooks for one transaction after the other. */
export function own(script: Record<string, unknown>, recorder: Recorder): Own {
  const hooks: Hooks = hooksOf(script, () => undefined, called)
  const hints = fieldsFor(textOf(script), hooks)
  let recorded = 0
  let state = new State(recorder.read)
  let replay: Replay
  let hook = ''
  const db = dbOver(
    () => state,
    () => recorded,
  )
  const record = (fields: number): void => {
    recorded = fields
    setRecorded(fields)
  }
  fetchWith((fields) => {
    const more = recorder.more(fields) ?? stop()
    record(more)
    state = new State(recorder.read)
    replay.again(() => recorder.nextChunk() ?? stop())
  })
  return {
    begin: (config, known) => {
      forgetEnd()
      forgetSteps()
      // Nothing is recorded yet, so nothing is missing.
      finalise()
      record(0)
      state = new State(recorder.read)
      hook = 'setup'
      hooks.setup?.(config)
      return known ?? hints
    },
    run: (fields) => {
      forgetEnd()
      record(fields)
      replay = events(
        hooks,
        () => recorded,
        () => state,
        db,
        (name) => {
          hook = name
        },
      )
    },
    show: (chunk) => replay.show(chunk),
    result: (context) => {
      hook = 'result'
      finalise()
      return hooks.result(contextOf(context), db)
    },
    hook: () => hook,
    interruption,
    isStopped,
    end: () => {
      fetchWith(undefined)
      forgetEnd()
      finalise()
      forgetSteps()
      forgetCalls()
      forgetArenas()
      return isUnchanged()
    },
  }
}
