// The envelope of JSON-RPC 2.0: parsing requests with their ids byte for byte, and writing answers
// around finished bytes.
import { setImmediate } from 'node:timers/promises'
import { invalidRequest, parseError, type RpcError } from './errors.ts'
import { restoreLong } from './long-params.ts'
import { NESTING_MAX, type RequestLimits, type ScannedText, scan } from './scan.ts'
import { readTracedRequest } from './traced-request.ts'

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

/** Whether an entry is no request. */
export const isBad = (call: Call | BadCall): call is BadCall => 'error' in call

/** What a body holds. */
export type Message =
  | { readonly batch: false; readonly calls: [Call | BadCall] }
  | { readonly batch: true; readonly calls: (Call | BadCall)[] }

/** Longest name of a method, in UTF-16 units; go-ethereum's limit. */
export const METHOD_NAME_MAX = 2048

const COMMA = 0x2c
const COLON = 0x3a
const BRACE = 0x7d

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Text up to this length cannot be nested too deeply, in UTF-16 units: each level has a bracket at
 * either end.
 */
const SHALLOW_MAX = 2 * NESTING_MAX

/** The key of an id, in quotes. */
const ID_KEY = '"id"'

/** A number that is written as JavaScript would, up to 15 digits: every such number is exact. */
const isPlain = (id: unknown): id is number => typeof id === 'number' && Number.isSafeInteger(id) && id >= 0 && id < 1e15

/**
 * The raw id of a short request that has one key `id`, a plain number, without a search for it:
 * most clients send such requests. In text without escapes `"id"` is a key or a whole value; if it
 * occurs once, and the request has an id, it is that id's key.
 */
function simpleId(text: string, value: unknown): string | undefined {
  if (!isObject(value) || !isPlain(value.id)) return undefined
  const at = text.indexOf(ID_KEY)
  const from = at + ID_KEY.length + 1
  if (at < 0 || text.charCodeAt(from - 1) !== COLON || text.indexOf(ID_KEY, from) >= 0 || text.includes('\\')) return undefined
  const id = String(value.id)
  const after = text.charCodeAt(from + id.length)
  return (after === COMMA || after === BRACE) && text.startsWith(id, from) ? id : undefined
}

/**
 * An id is a string, a number, a boolean or null, as in go-ethereum; the answer to any other id
 * carries null.
 */
const isAnswerable = (id: string | undefined): id is string => id !== undefined && !id.startsWith('{') && !id.startsWith('[')

/**
 * The error of entries that are no requests. One object for all of them: a batch may have
 * thousands.
 */
const INVALID = Object.freeze(invalidRequest())

function toCall(value: unknown, id: string | undefined): Call | BadCall {
  const method = isObject(value) && typeof value.method === 'string' && value.method !== '' ? value.method : undefined
  const bad = (error = INVALID): BadCall => ({ id: isAnswerable(id) ? id : 'null', error, method })
  if (!isObject(value) || value.jsonrpc !== '2.0' || method === undefined) return bad()
  if (id !== undefined && !isAnswerable(id)) return bad()
  if (method.length > METHOD_NAME_MAX) return bad(invalidRequest(`method name too long: ${method.length} > ${METHOD_NAME_MAX}`))
  return { id, method, params: value.params }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw parseError()
  }
}

/**
 * Parses a body that may have been scanned already. Throws `RpcError` -32700 if it is not JSON or
 * is nested too deeply, -32600 for an empty batch, `BatchTooLarge` for a batch beyond the limit,
 * -32005 if it has more values than the limit. Limits are applied before anything is parsed; texts
 * of up to `SHALLOW_MAX` units cost less than a second pass.
 */
export function parseMessage(body: string | ScannedText, limits: RequestLimits): Message {
  if (typeof body !== 'string') return messageOf(body)
  const text = body
  let value: unknown
  if (text.length <= SHALLOW_MAX) {
    const traced = readTracedRequest(text)
    if (traced !== undefined) return { batch: false, calls: [traced] }
    value = parsed(text)
    const simple = simpleId(text, value)
    if (simple !== undefined) return { batch: false, calls: [toCall(value, simple)] }
  }
  return messageOf({ text, scanned: scan(text, limits) }, value)
}

/**
 * Texts of more UTF-16 units are parsed by `parseInTurns`: a pass over a mebibyte takes a few
 * milliseconds, in which no other client is served.
 */
export const READ_AT_ONCE_MAX = 256 * 1024

/**
 * Same as `parseMessage`, for a large text: other clients have their turn after each of its steps.
 * `step` is called before each.
 */
export async function parseInTurns(body: string | ScannedText, limits: RequestLimits, step: () => void): Promise<Message> {
  await setImmediate()
  step()
  const scanned = typeof body === 'string' ? { text: body, scanned: scan(body, limits) } : body
  await setImmediate()
  step()
  const message = messageOf(scanned)
  await setImmediate()
  step()
  return message
}

/** The message of a text that keeps the limits. */
function messageOf({ text, scanned: { ids }, long }: ScannedText, value: unknown = parsed(text)): Message {
  if (long !== undefined) restoreLong(Array.isArray(value) ? value : [value], long)
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
