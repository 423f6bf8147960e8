// Ways in which a script stops: an interrupt that it cannot catch, data that was not recorded, a
// value that it throws.
import { cut, indexOf, lastIndexOf, Text } from './primordials.ts'

/** What a run of a script ends with, as text over the boundary: the first letter says which. */
export const OUTCOME = { done: '', failed: 'F', needs: 'N', stopped: 'S' } as const

/** The name under which a script is compiled: it stands in positions, as go-ethereum has it. */
const SCRIPT_NAME = '<eval>'

let raised: string | undefined
let raisedBy: unknown
let needed = 0
/** Whether the transaction is over: it cannot be done again with more fields. */
let final = false
/** Gets fields while the script waits; undefined where the whole run is done again for them. */
let fetch: ((fields: number) => void) | undefined

/** From here on `get` fetches fields that are missing; without `get` nothing does. */
export function fetchWith(get: ((fields: number) => void) | undefined): void {
  fetch = get
}

/** Forgets how the last transaction ended. */
export function forgetEnd(): void {
  raised = raisedBy = undefined
  needed = 0
  final = stopped = false
}

/** The error that the script was interrupted with, if it was. */
export const interruption = (): unknown => raisedBy

/** From here on what was not recorded reads as nothing. */
export function finalise(): void {
  final = true
}

/** Ends the script with a message; also where the script catches what this throws. */
export function interrupt(message: string): never {
  const error = new Error(message)
  if (raised === undefined) {
    raised = message + position(error)
    raisedBy = error
  }
  throw error
}

/**
 * The script looked at fields that were not recorded. Gets them, where it can wait for them; else
 * ends the run. Does nothing once the transaction is over. Whether they are there now.
 */
export function need(fields: number): boolean {
  if (final) return false
  if (fetch !== undefined) {
    fetch(fields)
    return true
  }
  needed |= fields
  throw new Error('a field that was not recorded')
}

/** The parent wants nothing more of this transaction. */
class Stop extends Error {}
let stopped = false
export function stop(): never {
  stopped = true
  throw new Stop()
}

/** Whether nothing more of the transaction is wanted. */
export const isStopped = (): boolean => stopped

/** Whether something happened that ends the run although the script went on. */
export const isEnded = (): boolean => raised !== undefined || needed !== 0 || stopped

/**
 * ` at step (<eval>:1:53)` for the innermost place of the script in an error's stack; empty where
 * there is none.
 */
function position(error: unknown): string {
  try {
    const { stack } = error as { stack?: unknown }
    if (typeof stack !== 'string') return ''
    const at = indexOf(stack, `${SCRIPT_NAME}:`)
    if (at < 0) return ''
    const line = lastIndexOf(stack, '\n', at) + 1
    const lineEnd = indexOf(stack, '\n', at)
    const frame = cut(stack, line, lineEnd < 0 ? stack.length : lineEnd)
    const open = indexOf(frame, `(${SCRIPT_NAME}`)
    if (open < 0) return ` at ${cut(stack, at, lineEnd < 0 ? stack.length : lineEnd)}`
    const name = bare(cut(frame, indexOf(frame, 'at ') + 3, open - 1))
    return name === 'eval' ? ` at ${cut(frame, open + 1, frame.length - 1)}` : ` at ${name} ${cut(frame, open)}`
  } catch {
    return ''
  }
}

/** A function's name out of a stack: `Object.step`, `get x [as x]`, `new Big`. */
function bare(name: string): string {
  const alias = indexOf(name, ' [as ')
  const whole = alias < 0 ? name : cut(name, 0, alias)
  const last = cut(whole, lastIndexOf(whole, '.') + 1)
  return cut(last, lastIndexOf(last, ' ') + 1)
}

/** What a thrown value says, as go-ethereum prints it. */
function said(value: unknown): string {
  try {
    return Text(value) + position(value)
  } catch {
    return '[object Object]'
  }
}

/**
 * The outcome of a run in which `error` was thrown, `hook` being the function that ran: undefined
 * while the script is loaded.
 */
export function outcomeOf(error: unknown, hook: string | undefined): string {
  if (stopped) return OUTCOME.stopped
  if (needed !== 0) return OUTCOME.needs + needed
  const message = raised ?? said(error)
  return OUTCOME.failed + message + (hook === undefined ? '' : `    in server-side tracer function '${hook}'`)
}

/** What an error says that is thrown while the result is encoded. */
export const saidInResult = (error: unknown): string => said(error)
