// The envelope of a JSON-RPC response: its result as the bytes that the upstream sent. A result
// that is parsed and written again would lose integers beyond 53 bits.
import { UpstreamError } from './error.ts'

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]
const SPACE_MAX = 0x20

/** Index of the quotation mark that ends the string whose first mark is at `at`. */
function stringEnd(bytes: Buffer, at: number): number {
  for (let end = bytes.indexOf(QUOTE, at + 1); end !== -1; end = bytes.indexOf(QUOTE, end + 1)) {
    let escapes = 0
    while (bytes[end - 1 - escapes] === BACKSLASH) escapes++
    if (escapes % 2 === 0) return end
  }
  return bytes.length
}

/** Index behind the value that begins at `at`: of the comma or bracket that follows it. */
function valueEnd(bytes: Buffer, at: number): number {
  let depth = 0
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i] as number
    if (byte === QUOTE) i = stringEnd(bytes, i)
    else if (byte === OPEN || byte === OPEN_LIST) depth++
    else if (byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === 0) return i
      depth--
    } else if (byte === COMMA && depth === 0) return i
  }
  return bytes.length
}

/** The members of a JSON object, each as its bytes; empty where the bytes are no object. */
function members(bytes: Buffer): ReadonlyMap<string, Buffer> {
  const found = new Map<string, Buffer>()
  let at = bytes.indexOf(OPEN)
  if (at === -1) return found
  at++
  for (;;) {
    const name = bytes.indexOf(QUOTE, at)
    if (name === -1) return found
    const nameEnd = stringEnd(bytes, name)
    let begin = bytes.indexOf(COLON, nameEnd)
    if (begin === -1) return found
    begin++
    while ((bytes[begin] ?? COLON) <= SPACE_MAX) begin++
    const end = valueEnd(bytes, begin)
    found.set(bytes.toString('latin1', name + 1, nameEnd), bytes.subarray(begin, end))
    if (bytes[end] !== COMMA) return found
    at = end + 1
  }
}

/** An answer that is none of JSON-RPC. */
export class BadEnvelope extends Error {
  override name = 'BadEnvelope'
}

/**
 * The bytes of the result of a response. Throws `UpstreamError` where it is an error, and
 * `BadEnvelope` where it is no response of JSON-RPC.
 */
export function resultBytes(method: string, answer: Buffer): Buffer {
  try {
    JSON.parse(answer.toString('utf8'))
  } catch {
    throw new BadEnvelope('its answer is no JSON')
  }
  return uncheckedResult(method, answer)
}

/**
 * As `resultBytes`, without a look at the result itself: for answers of many megabytes whose
 * reader checks them.
 */
export function uncheckedResult(method: string, answer: Buffer): Buffer {
  const { error, result } = Object.fromEntries(members(answer)) as { error?: Buffer; result?: Buffer }
  const refusal = error === undefined ? null : parsedError(error)
  if (refusal !== null) {
    const { code, message, data } = refusal
    const text = typeof message === 'string' ? message : 'an error without a message'
    throw new UpstreamError(method, typeof code === 'number' ? code : 0, text, data)
  }
  if (result === undefined) throw new BadEnvelope('its answer has neither a result nor an error')
  let end = result.length
  while (end > 0 && (result[end - 1] as number) <= SPACE_MAX) end--
  return result.subarray(0, end)
}

/** The error of a response; null where there is none. */
function parsedError(error: Buffer): { readonly code?: unknown; readonly message?: unknown; readonly data?: unknown } | null {
  try {
    return JSON.parse(error.toString('utf8')) as { code?: unknown; message?: unknown; data?: unknown } | null
  } catch {
    throw new BadEnvelope('its answer is no JSON')
  }
}
