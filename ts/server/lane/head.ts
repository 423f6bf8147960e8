// Heads of ordinary requests: the bytes before a body. Whatever is not plainly ordinary is left to node:http.
import { REDIRECTED_HEADER } from '../../rpc/redirect.ts'
import { FORWARDED_HEADER } from '../../rpc/submission.ts'
import { negotiate } from '../accept.ts'
import { type AppOptions, isJson } from '../app.ts'
import { isAllowedHost } from '../hosts.ts'

/** What a request says of itself, where it may be served in a lane. */
export interface Head {
  /** Where the body begins, in bytes. */
  readonly bodyAt: number
  /** Where it ends. */
  readonly end: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly accepted: string | undefined
  /** Answers of more bytes are wanted in gzip; undefined where none is. */
  readonly gzipOver: number | undefined
}

/** Longest head, in bytes. */
const HEAD_BYTES_MAX = 4096

/** Heads that are remembered: a client sends the same ones again, but for the length of the body. */
const REMEMBERED_MAX = 1024

const REQUEST_LINE = 'POST / HTTP/1.1'
const HEAD_END = '\r\n\r\n'

/** A name and a value without anything that needs a second look (RFC 9110, section 5.6.2). */
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)[ \t]*$/

/** Headers that change how a message or its connection goes on, or that the ordinary way alone looks at. */
const NOT_ORDINARY: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'te',
  'trailer',
  'expect',
  'content-encoding',
  'upgrade',
  'keep-alive',
  'proxy-connection',
  'http2-settings',
  'origin',
  'access-control-request-method',
  FORWARDED_HEADER,
  REDIRECTED_HEADER,
])

/** The headers of a head, by name in lower case; undefined where it is not ordinary. */
function headersOf(head: string): Record<string, string> | undefined {
  const [first, ...lines] = head.split('\r\n')
  if (first !== REQUEST_LINE) return undefined
  const headers: Record<string, string> = Object.create(null)
  for (const line of lines) {
    const found = LINE.exec(line)
    const name = found?.[1]?.toLowerCase()
    const value = found?.[2]
    if (name === undefined || value === undefined || name in headers || NOT_ORDINARY.has(name)) return undefined
    if (name === 'connection' && value.toLowerCase() !== 'keep-alive') return undefined
    headers[name] = value
  }
  return headers
}

/** Reads heads. What it says of one depends on its bytes and on settings alone, so it is remembered. */
export class Heads {
  private readonly options: AppOptions
  private readonly known = new Map<string, Head | undefined>()

  constructor(options: AppOptions) {
    this.options = options
  }

  /** The head of an ordinary request that a chunk of bytes is the whole of; undefined for all else. */
  of(chunk: Buffer): Head | undefined {
    const at = chunk.indexOf(HEAD_END, 0, 'latin1')
    if (at < 0 || at > HEAD_BYTES_MAX) return undefined
    const text = chunk.toString('latin1', 0, at)
    let head = this.known.get(text)
    if (head === undefined && !this.known.has(text)) {
      head = this.read(text)
      if (this.known.size >= REMEMBERED_MAX) this.known.clear()
      this.known.set(text, head)
    }
    return head?.end === chunk.length ? head : undefined
  }

  private read(text: string): Head | undefined {
    const { allowedHosts, maxBodyBytes, compression } = this.options
    const headers = headersOf(text)
    if (headers === undefined) return undefined
    const { host, 'content-length': length = '', 'content-type': type, 'accept-encoding': accepted } = headers
    if (host === undefined || !isAllowedHost(allowedHosts, host) || !isJson(type)) return undefined
    if (!/^[0-9]{1,15}$/.test(length) || Number(length) > maxBodyBytes) return undefined
    const bodyAt = text.length + HEAD_END.length
    const gzipOver = negotiate(accepted, true) === 'gzip' ? compression.thresholdBytes : undefined
    return { bodyAt, end: bodyAt + Number(length), headers, accepted, gzipOver }
  }
}
