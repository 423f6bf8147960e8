// The script as an object with hooks: loading it, and finding out what it can look at.
import { FIELD } from './fields.ts'
import { bindTo, evaluate, occurs, toObject } from './primordials.ts'

export type Hook = (...args: unknown[]) => unknown

/** The functions of a script, bound to its object. */
export interface Hooks {
  readonly result: Hook
  readonly fault: Hook
  readonly step: Hook | undefined
  readonly enter: Hook | undefined
  readonly exit: Hook | undefined
  readonly setup: Hook | undefined
}

/** A script that lacks a function; the message is go-ethereum's. */
export class Unfit extends Error {}

/** Evaluates the text of a script, as strict code where `isStrict`, and takes its functions. */
export function load(source: string, isStrict: boolean): Hooks {
  // The second line gives positions a name. The text stands where go-ethereum has it, so lines and
  // columns agree.
  return hooksOf(toObject(evaluate(`${isStrict ? '"use strict";' : ''}(${source})\n//# sourceURL=<eval>`)))
}

/** Makes a function that has `self` as its `this`. */
export type Bind = (fn: Hook, self: unknown) => Hook

/**
 * The functions of a script, each bound to it by `bind`; `orElse` stands in for a missing `fault`.
 */
export function hooksOf(script: Record<string, unknown>, orElse?: Hook, bind: Bind = bindTo): Hooks {
  const hook = (name: string): Hook | undefined => {
    const value = script[name]
    return typeof value === 'function' ? bind(value as Hook, script) : undefined
  }
  const result = hook('result')
  if (result === undefined) throw new Unfit('trace object must expose a function result()')
  const fault = hook('fault') ?? orElse
  if (fault === undefined) throw new Unfit('trace object must expose a function fault()')
  const step = hook('step')
  const enter = hook('enter')
  const exit = hook('exit')
  if ((enter === undefined) !== (exit === undefined)) {
    throw new Unfit('trace object must expose either both or none of enter() and exit()')
  }
  return { result, fault, step, enter, exit, setup: hook('setup') }
}

/**
 * Words in a text and the fields that a script with them may look at. Another way to a member is
 * found when it is used.
 */
const HINTS: readonly (readonly [RegExp, number])[] = [
  [/\bop\b/, FIELD.op],
  [/getPC/, FIELD.pc],
  [/getGas\b/, FIELD.gas],
  [/getCost/, FIELD.cost],
  [/getDepth/, FIELD.depth],
  [/getRefund/, FIELD.refund],
  [/\bstack\b/, FIELD.stack],
  [/\bmemory\b/, FIELD.memoryLength],
  [/\bmemory\b(?!\s*\.\s*length\b)/, FIELD.memory],
  [/\bcontract\b/, FIELD.contract],
  [/getInput/, FIELD.input],
  [/getBalance|getNonce|getCode|getState|exists/, FIELD.journal],
]

/** What has to be recorded for a script. */
export function fieldsFor(source: string, hooks: Hooks): number {
  let fields = hooks.enter === undefined ? 0 : FIELD.frames
  if (hooks.step !== undefined) fields |= FIELD.step
  for (let i = 0; i < HINTS.length; i++) {
    const [pattern, field] = HINTS[i] as (typeof HINTS)[number]
    if (occurs(pattern, source)) fields |= field
  }
  // Columns belong to steps: without `step` there are none.
  return hooks.step === undefined ? fields & (FIELD.frames | FIELD.journal) : fields
}
