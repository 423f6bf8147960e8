// The inside of an isolate: the one function that the child process calls. No script can reach it.
import { offerLibrary } from './big.ts'
import { dbOver } from './db.ts'
import { events } from './events.ts'
import { GLOBAL_NAMES, installGlobals, setPrecompiles } from './globals.ts'
import { fieldsFor, type Hooks, load, Unfit } from './hooks.ts'
import { finalise, forgetEnd, isEnded, OUTCOME, outcomeOf } from './interrupt.ts'
import { forgetSteps, setRecorded } from './log.ts'
import { contextOf, encoded, NoJson } from './result.ts'
import { seal } from './seal.ts'
import { type ReadState, State } from './state.ts'
import { WARM_CONTEXT, WARM_FIELDS, WARM_OUTCOME, WARM_SCRIPT, warmChunk } from './warm.ts'

/** The next chunk, the JSON of `ctx` at the end, undefined where nothing more is wanted. */
type Pull = () => ArrayBuffer | string | undefined

let pull: Pull
let state: State
let db: object
let hooks: Hooks
let recordedNow = 0
let context = ''
/** Whether the realm is sealed: it is used again. */
let isSealed = false
/** The function of the script that runs, for messages; undefined while it is loaded. */
let hook: string | undefined

const attempt = (work: () => string): string => {
  try {
    const outcome = work()
    return isEnded() ? outcomeOf(undefined, hook) : outcome
  } catch (error) {
    if (error instanceof Unfit || error instanceof NoJson) return OUTCOME.failed + error.message
    return outcomeOf(error, hook)
  }
}

/**
 * Loads a script and returns the fields that it needs, as decimal text, or its failure. `known`:
 * fields that were found before.
 */
function begin(nextChunk: Pull, read: ReadState, source: string, config: string, known: number | null): string {
  forgetEnd()
  forgetSteps()
  setPrecompiles([])
  hook = undefined
  recordedNow = 0
  setRecorded(0)
  pull = nextChunk
  state = new State(read)
  db = dbOver(
    () => state,
    () => recordedNow,
  )
  return attempt(() => {
    offerLibrary(source)
    hooks = load(source, isSealed)
    hooks.setup?.(config)
    return `${known ?? fieldsFor(source, hooks)}`
  })
}

/**
 * Shows the script everything that was recordedNow. `precompiles`: hex digits, one address after
 * the other with commas between.
 */
function run(fields: number, precompiles: string): string {
  recordedNow = fields
  setRecorded(fields)
  setPrecompiles(precompiles === '' ? [] : precompiles.split(','))
  return attempt(() => {
    const recorded = () => fields
    const replay = events(
      hooks,
      recorded,
      () => state,
      db,
      (name) => {
        hook = name
      },
    )
    for (;;) {
      const next = pull()
      if (next === undefined) return OUTCOME.stopped
      if (typeof next === 'string') {
        context = next
        return OUTCOME.done
      }
      replay.show(next)
      if (isEnded()) return OUTCOME.stopped
    }
  })
}

/** The JSON of the script's answer behind a letter R, or how it failed. */
function finish(outputLimit: number): string {
  return attempt(() => {
    hook = 'result'
    finalise()
    const value = hooks.result(contextOf(context), db)
    if (isEnded()) return ''
    hook = undefined
    return `R${encoded(value, outputLimit)}`
  })
}

installGlobals(globalThis)

/** Makes the realm fit for one transaction after the other. Throws where that cannot be. */
function sealRealm(): string {
  seal(globalThis, GLOBAL_NAMES)
  isSealed = true
  return ''
}

/**
 * Runs the transaction of warm.ts, so that the functions which the next one calls are compiled. The
 * realm is dropped after it. Throws where the answer is not the expected one.
 */
function warm(): string {
  const received = [warmChunk(), WARM_CONTEXT]
  let at = 0
  begin(
    () => received[at++],
    () => undefined,
    WARM_SCRIPT,
    '{}',
    null,
  )
  run(WARM_FIELDS, '')
  const outcome = finish(WARM_OUTCOME.length)
  if (outcome !== WARM_OUTCOME) throw new Error(`the transaction of the warm-up ended with ${outcome}`)
  return outcome
}

/** What the last call returned, once it has returned. */
let returned: string | undefined

/**
 * What the child calls: 0 begins, 1 runs, 2 finishes, 3 seals, 4 warms up, 5 gives what the last
 * call returned. A promise that is rejected without a handler makes the engine throw in place of
 * what was returned; in go-ethereum's engine it has no effect.
 */
export const inside = (call: number, ...args: never[]): string | undefined => {
  if (call === 5) return returned
  returned = undefined
  const calls = [begin, run, finish, sealRealm, warm] as readonly ((...args: never[]) => string)[]
  returned = (calls[call] as (...args: never[]) => string)(...args)
  return returned
}
