// The answer of a script: `ctx` for its `result`, and what that returns as JSON in the form of Go's
// encoder.
import { bigOfDecimal } from './big.ts'
import { saidInResult } from './interrupt.ts'
import { codeAt, cut, defineProperty, finite, indexOf, occurs, parse, stringify, Text } from './primordials.ts'
import { bytesOfHex } from './text.ts'

const BINARY = ['from', 'to', 'input', 'output', 'coinbase', 'blockHash', 'txHash']
const BIG = ['value', 'gasPrice']

/** A member by its own value, whatever a script made of Object.prototype. */
function define(on: object, key: string, value: unknown): void {
  defineProperty(on, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true } as PropertyDescriptor)
}

/**
 * A number that is made when it is looked at: most scripts do not, and the library takes a while to
 * load.
 */
function defineLater(on: object, key: string, decimal: string): void {
  const descriptor = {
    __proto__: null,
    get: () => {
      const value = bigOfDecimal(decimal)
      define(on, key, value)
      return value
    },
    set: (value: unknown) => define(on, key, value),
    enumerable: true,
    configurable: true,
  }
  defineProperty(on, key, descriptor as PropertyDescriptor)
}

/**
 * The `ctx` of a script, from the JSON that the core sends: bytes as hex text, amounts as decimal
 * text.
 */
export function contextOf(json: string): object {
  const plain = parse(json) as Record<string, unknown>
  const ctx = {}
  for (const key in plain) {
    const value = plain[key]
    if (typeof value === 'string' && isOneOf(BIG, key)) defineLater(ctx, key, value)
    else define(ctx, key, typeof value === 'string' && isOneOf(BINARY, key) ? bytesOfHex(value) : value)
  }
  return ctx
}

function isOneOf(names: readonly string[], name: string): boolean {
  for (let i = 0; i < names.length; i++) if (names[i] === name) return true
  return false
}

/** Characters that Go writes escaped, so that JSON may stand in HTML. */
const UNSAFE = /[<>&\u2028\u2029]/

function escaped(json: string): string {
  if (!occurs(UNSAFE, json)) return json
  let text = ''
  for (let i = 0; i < json.length; i++) {
    const code = codeAt(json, i)
    if (code === 0x3c) text += '\\u003c'
    else if (code === 0x3e) text += '\\u003e'
    else if (code === 0x26) text += '\\u0026'
    else if (code === 0x2028) text += '\\u2028'
    else if (code === 0x2029) text += '\\u2029'
    else text += json[i]
  }
  return text
}

/** Why a value has no JSON. */
export class NoJson extends Error {}

/** The first line of an engine's message that has many. */
function firstLine(text: string): string {
  const end = indexOf(text, '\n')
  return end < 0 ? text : cut(text, 0, end)
}

/** JSON of what `result` returned, which may have so many bytes. */
export function encoded(value: unknown, limit: number): string {
  if (typeof value === 'number') return number(value)
  // go-ethereum sends an empty object where `result` returns nothing.
  if (value === undefined || typeof value === 'symbol') return '{}'
  let json: string | undefined
  try {
    json = stringify(value)
  } catch (error) {
    throw new NoJson(`json: error calling MarshalJSON for type *goja.Object: ${firstLine(saidInResult(error))}`)
  }
  if (json === undefined) return 'null'
  // Before anything else is done with it: it may be as long as a text can be.
  if (json.length > limit) throw new NoJson(`the result of the tracer has more than ${limit} bytes (evm.trace_js_output_bytes)`)
  return escaped(json)
}

function number(value: number): string {
  if (!finite(value)) throw new NoJson(`json: unsupported value: ${value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN'}`)
  return value === 0 && 1 / value < 0 ? '-0' : Text(value)
}
