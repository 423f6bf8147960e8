// The envelope of JSON-RPC 2.0: reading requests with their ids byte for byte, and writing answers around ready bytes.
import { invalidRequest, parseError, type RpcError } from './errors.ts'

/** A request that can be served. */
export interface Call {
  /** The id as the client wrote it; undefined for a notification, which gets no answer. */
  readonly id: string | undefined
  readonly method: string
  readonly params: unknown
}

/** An entry that is no request: its error and the id to answer with. */
export interface BadCall {
  readonly id: string
  readonly error: RpcError
  /** The method that it names, where that much can be read. */
  readonly method: string | undefined
}

/** What a body holds. */
export type Message =
  | { readonly batch: false; readonly calls: [Call | BadCall] }
  | { readonly batch: true; readonly calls: (Call | BadCall)[] }

/** Deepest nesting of arrays and objects in a request. Trace configurations need fewer than ten levels. */
export const NESTING_MAX = 128

/** Longest name of a method, in UTF-16 units; go-ethereum's limit. */
export const METHOD_NAME_MAX = 2048

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const BRACE = 0x7d
const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09

/**
 * Finds the raw text of each top-level `id` in text that is known to be valid JSON. JSON.parse alone would turn the ids 1.0,
 * 9007199254740993 and "\u0061" into something that the client did not write.
 */
class IdScanner {
  private at = 0
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** One entry a message: the raw id, or undefined where there is none or the message is no object. */
  scan(): (string | undefined)[] {
    this.skipSpace()
    if (this.peek() !== '[') return [this.message()]
    const ids: (string | undefined)[] = []
    this.at++
    for (this.skipSpace(); this.peek() !== ']'; this.skipSpace()) {
      ids.push(this.message())
      this.skipSpace()
      if (this.peek() === ',') this.at++
    }
    return ids
  }

  private peek(): string {
    return this.text[this.at] as string
  }

  private skipSpace(): void {
    while (isSpace(this.text.charCodeAt(this.at))) this.at++
  }

  private message(): string | undefined {
    if (this.peek() !== '{') {
      this.skipValue()
      return undefined
    }
    let id: string | undefined
    this.at++
    for (this.skipSpace(); this.peek() !== '}'; this.skipSpace()) {
      const key = this.raw()
      this.skipSpace()
      this.at++ // the colon
      this.skipSpace()
      const value = this.raw()
      if (key === '"id"' || (key.includes('\\') && JSON.parse(key) === 'id')) id = value
      this.skipSpace()
      if (this.peek() === ',') this.at++
    }
    this.at++
    return id
  }

  private raw(): string {
    const from = this.at
    this.skipValue()
    return this.text.slice(from, this.at)
  }

  private skipString(): void {
    for (;;) {
      this.at = this.text.indexOf('"', this.at + 1)
      let escapes = 0
      while (this.text.charCodeAt(this.at - 1 - escapes) === BACKSLASH) escapes++
      if (escapes % 2 === 0) break
    }
    this.at++
  }

  private skipValue(): void {
    let depth = 0
    for (;;) {
      const c = this.text.charCodeAt(this.at)
      if (c === QUOTE) {
        this.skipString()
      } else if (c === 0x7b || c === 0x5b) {
        if (++depth > NESTING_MAX) throw parseError()
        this.at++
      } else if (c === 0x7d || c === 0x5d) {
        depth--
        this.at++
      } else if (c === 0x2c || c === 0x3a || isSpace(c)) {
        this.at++
      } else {
        // A number or a word: it ends where something else begins.
        while (this.at < this.text.length && !/[\s,\]}]/.test(this.peek())) this.at++
      }
      if (depth === 0) return
    }
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Text up to this length cannot be nested too deeply, in UTF-16 units: each level has a bracket at either end. */
const SHALLOW_MAX = 2 * NESTING_MAX

/** The key of an id, in quotes. */
const ID_KEY = '"id"'

/** A number that is written as JavaScript would, up to 15 digits: every such number is exact. */
const isPlain = (id: unknown): id is number => typeof id === 'number' && Number.isSafeInteger(id) && id >= 0 && id < 1e15

/**
 * The raw id of a short request that has one key `id`, a plain number, without a search for it: what most clients send. In text without
 * escapes `"id"` is a key or a value of its own; where it stands once, and the request has an id, it is that one's key.
 */
function simpleId(text: string, value: unknown): string | undefined {
  if (text.length > SHALLOW_MAX || !isObject(value) || !isPlain(value.id)) return undefined
  const at = text.indexOf(ID_KEY)
  const from = at + ID_KEY.length + 1
  if (at < 0 || text.charCodeAt(from - 1) !== COLON || text.indexOf(ID_KEY, from) >= 0 || text.includes('\\')) return undefined
  const id = String(value.id)
  const after = text.charCodeAt(from + id.length)
  return (after === COMMA || after === BRACE) && text.startsWith(id, from) ? id : undefined
}

/** An id is a string, a number, a boolean or null, as go-ethereum takes it; the answer to any other one carries null. */
const isAnswerable = (id: string | undefined): id is string => id !== undefined && !id.startsWith('{') && !id.startsWith('[')

function toCall(value: unknown, id: string | undefined): Call | BadCall {
  const method = isObject(value) && typeof value.method === 'string' && value.method !== '' ? value.method : undefined
  const bad = (message?: string): BadCall => ({ id: isAnswerable(id) ? id : 'null', error: invalidRequest(message), method })
  if (!isObject(value) || value.jsonrpc !== '2.0' || method === undefined) return bad()
  if (id !== undefined && !isAnswerable(id)) return bad()
  if (method.length > METHOD_NAME_MAX) return bad(`method name too long: ${method.length} > ${METHOD_NAME_MAX}`)
  return { id, method, params: value.params }
}

/** Reads a body; throws `RpcError` -32700 where it is no JSON, -32600 for an empty batch. */
export function parseMessage(text: string): Message {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw parseError()
  }
  const simple = simpleId(text, value)
  if (simple !== undefined) return { batch: false, calls: [toCall(value, simple)] }
  const ids = new IdScanner(text).scan()
  if (!Array.isArray(value)) return { batch: false, calls: [toCall(value, ids[0])] }
  if (value.length === 0) throw invalidRequest('empty batch')
  return { batch: true, calls: value.map((entry, i) => toCall(entry, ids[i])) }
}

/** What stands before the bytes of a result. */
export const resultHead = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":`

/** What stands after them. */
export const RESULT_TAIL = '}'

/** An error as a member of an envelope. */
function errorMember(e: RpcError): string {
  const data = e.data === undefined ? '' : `,"data":${JSON.stringify(e.data)}`
  return `"error":{"code":${e.code},"message":${JSON.stringify(e.message)}${data}}`
}

/** What stands after the bytes of a result that was cut short: clients look for `error` first. */
export const lateError = (e: RpcError): string => `,${errorMember(e)}${RESULT_TAIL}`

/** A whole answer with an error. */
export const errorAnswer = (id: string, e: RpcError): string => `{"jsonrpc":"2.0","id":${id},${errorMember(e)}}`
