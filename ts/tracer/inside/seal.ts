// A realm in which nothing can be changed, so that consecutive transactions may run in it: a script
// that tries to change anything throws.
//
// Anything that would reveal the seal throws as well when it is read, as does every way to create
// code, to catch errors later, or to reach built-ins that hold a state. After any error the
// transaction is run again in a fresh realm, so the error is never visible.
import { bigIntLibrary, bigOfDecimal } from './big.ts'
import { FRAME, FRAME_RESULT } from './calls.ts'
import { LOG } from './log.ts'
import { defineProperty, getPrototypeOf } from './primordials.ts'

/**
 * What scripts may use of the global scope; the functions that the inside puts there come in
 * addition.
 */
const LEFT: readonly string[] = [
  ...['Infinity', 'NaN', 'undefined', 'isFinite', 'isNaN', 'parseFloat', 'parseInt', 'Math', 'JSON'],
  ...['Array', 'BigInt', 'Boolean', 'Date', 'Map', 'Number', 'Set', 'String', 'Uint8Array'],
]

/** The inherited properties that objects may use: the others reveal properties. */
const INHERITED: readonly string[] = ['toString', 'valueOf', 'toLocaleString']

/** Why the realm is left. */
class Sealed extends Error {}

const refuse = (): never => {
  throw new Sealed()
}

// Taken before the realm is sealed: from then on their names throw.
const { freeze, getOwnPropertyDescriptor: descriptorOf } = Object
const { ownKeys } = Reflect

/**
 * Makes a look at a property throw. One that cannot be changed any more makes the realm unfit,
 * which the error says.
 */
function trap(on: object, key: PropertyKey): void {
  const { enumerable } = descriptorOf(on, key) as PropertyDescriptor
  defineProperty(on, key, { get: refuse, set: refuse, enumerable: enumerable === true, configurable: false })
}

/** Every object that can be reached from the seeds, in any way. */
function reached(seeds: readonly unknown[]): Set<object> {
  const found = new Set<object>()
  const open: unknown[] = [...seeds]
  while (open.length > 0) {
    const next = open.pop()
    if ((typeof next !== 'object' && typeof next !== 'function') || next === null || found.has(next)) continue
    found.add(next)
    open.push(getPrototypeOf(next))
    for (const key of ownKeys(next)) {
      const { value, get, set } = descriptorOf(next, key) as PropertyDescriptor
      open.push(value, get, set)
    }
  }
  return found
}

/** Objects that no name leads to. */
function hidden(): readonly unknown[] {
  const generator = function* (): Generator {}
  const asyncGenerator = async function* (): AsyncGenerator {}
  const text = 'x'
  return [
    generator,
    generator(),
    asyncGenerator,
    asyncGenerator(),
    async () => undefined,
    [][Symbol.iterator](),
    text[Symbol.iterator](),
    text.matchAll(/x/g),
    new Map().entries(),
    new Set().entries(),
    /x/,
    // Of either class of the library.
    bigOfDecimal('1'),
    bigOfDecimal('100000000000000000000'),
    LOG,
    FRAME,
    FRAME_RESULT,
  ]
}

/**
 * Seals the realm. `own`: names of the global functions that are ours. Throws where it cannot be
 * done: the realm must not be used then.
 */
export function seal(scope: object, own: readonly string[]): void {
  bigIntLibrary()
  const all = reached([scope, ...hidden()])
  const left = new Set<PropertyKey>([...LEFT, ...own])
  const constructors = new Set<unknown>(LEFT.map((name) => (scope as Record<string, unknown>)[name]))
  const everyone = Object.prototype
  const later = Promise.prototype
  for (const object of all) {
    const maker = descriptorOf(object, 'constructor')
    if (maker !== undefined && object !== scope && !constructors.has(maker.value)) trap(object, 'constructor')
  }
  for (const key of ownKeys(everyone)) if (key !== 'constructor' && !INHERITED.includes(key as string)) trap(everyone, key)
  for (const key of ownKeys(later)) if (typeof key === 'string' && key !== 'constructor') trap(later, key)
  for (const key of ownKeys(scope)) if (!left.has(key)) trap(scope, key)
  for (const object of all) freeze(object)
  freeze(refuse)
}
