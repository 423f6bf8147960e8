// The built-ins that the inside works with, taken before a script can replace them.
//
// A script shares its realm with this code and may change every prototype in it. It can only
// mislead its own transaction that way, since nothing of a context is ever used again; but
// go-ethereum's engine is not misled, so neither is this one.

/** A method as a function whose first argument is `this`. */
// biome-ignore lint/suspicious/noExplicitAny: methods of all shapes
export const uncurry = (method: (...args: any[]) => unknown): ((self: unknown, ...args: any[]) => any) =>
  Function.prototype.call.bind(method) as never

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object
export const Bytes = Uint8Array
export const Int32s = Int32Array
export const Uint32s = Uint32Array
export const Uint16s = Uint16Array
export const Doubles = Float64Array
export const View = DataView
export const Native = BigInt
export const asUint64 = (n: number): bigint => asUintN(64, Native(n))
export const Text = String
export const Fault = TypeError

const asUintN = BigInt.asUintN

export const setAll = uncurry(typedArray.constructor.prototype.set)
export const fillAll = uncurry(typedArray.constructor.prototype.fill)
export const bindTo = uncurry(Function.prototype.bind) as <F>(fn: F, self: unknown) => F
export const codeAt = uncurry(String.prototype.charCodeAt) as (text: string, at: number) => number
export const indexOf = uncurry(String.prototype.indexOf) as (text: string, what: string, from?: number) => number
export const lastIndexOf = uncurry(String.prototype.lastIndexOf) as (text: string, what: string, from?: number) => number
export const cut = uncurry(String.prototype.slice) as (text: string, from: number, to?: number) => string
export const fromCode = String.fromCharCode
export const { isArray } = Array
export const finite = Number.isFinite
export const { trunc, floor, imul, min } = Math
export const { parse, stringify } = JSON
export const { defineProperty, getPrototypeOf } = Object
export const toObject = Object as (value: unknown) => Record<string, unknown>
/**
 * Evaluates a text as a script of the global scope: by another name than its own, eval sees nothing
 * of this code.
 */
export const { eval: evaluate } = globalThis

const viewMethods = DataView.prototype
export const uint32At = uncurry(viewMethods.getUint32) as (view: DataView, at: number, little: boolean) => number
export const float64At = uncurry(viewMethods.getFloat64) as (view: DataView, at: number, little: boolean) => number

const utf8 = uncurry(RegExp.prototype.test)
/** Whether a pattern occurs in a text. */
export const occurs = (pattern: RegExp, text: string): boolean => utf8(pattern, text)
