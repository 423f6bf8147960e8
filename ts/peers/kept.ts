// POSTs of JSON that a client of this node waits for, over connections that stay open to one other
// node. A request is one write, and what the socket reads comes without a stream: the streams and
// events of node:http take longer than all the rest of such a request, and undici a good part of
// that (docs/decisions/http-fast-path.md). A whole answer with an ordinary head is taken as it is;
// http-parser-js parses any other.
import net from 'node:net'
import { promisify } from 'node:util'
import { HTTPParser } from 'http-parser-js'
import {
  FREE_MS,
  headersFor,
  NoAnswer,
  noAnswer,
  PostError,
  type PostOptions,
  parsed,
  passingOf,
  post,
  Refused,
  refusalOf,
  type Target,
  targetOf,
  tooLarge,
} from './post.ts'

/** Connections that are kept open without a request. */
const FREE_MAX = 32

/** Longest head of an answer, in bytes: that of node:http. */
const HEAD_BYTES_MAX = 16 * 1024

/** What a connection reads at once, in bytes: an answer of the usual size with its head. */
const READ_BYTES = 16 * 1024

/** Bounds of one request. */
export type KeptOptions = Required<Pick<PostOptions, 'timeoutMs' | 'answerBytesMax'>> & Pick<PostOptions, 'signal'>

/** Posts a body and parses the answer; errors and rules are those of `post`. */
export type KeptPost = (body: string, options: KeptOptions) => Promise<unknown>

/** A request on its way, and what has come of its answer. */
class Exchange {
  readonly answer: Promise<string>
  /** Ends the request once it has taken too long. */
  timer: NodeJS.Timeout | undefined
  /** Called once the request is over: its signal ends nothing more. */
  forget: () => void = () => undefined
  status = 0
  readonly bytesMax: number
  private readonly parts: Buffer[] = []
  private bytes = 0
  private isGzip = false
  private resolve: (answer: string | Promise<string>) => void = () => undefined
  private reject: (e: Error) => void = () => undefined

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  /** The head is there; returns the failure where the answer is not read. */
  head(status: number, headers: readonly string[]): Error | undefined {
    this.status = status
    const header = (name: string): string | undefined => {
      const at = headers.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === name)
      return at < 0 ? undefined : headers[at + 1]
    }
    this.isGzip = header('content-encoding') === 'gzip'
    return isInterim(status) ? undefined : refusalOf(status, header('content-type'))
  }

  /** A part of the body; returns the failure once there is more than may be read. */
  take(part: Buffer): Error | undefined {
    this.bytes += part.length
    if (this.bytes > this.bytesMax) return tooLarge(this.bytesMax)
    // The connection reads into the same memory again.
    this.parts.push(Buffer.from(part))
    return undefined
  }

  private over(): void {
    clearTimeout(this.timer)
    this.forget()
  }

  /** The whole answer is there. */
  whole(text: string): void {
    this.over()
    this.resolve(text)
  }

  /** The last part of the answer was taken. */
  done(): void {
    this.over()
    const passing = passingOf(this.status)
    if (passing !== undefined) {
      this.reject(passing)
      return
    }
    const bytes = this.parts.length === 1 ? (this.parts[0] as Buffer) : Buffer.concat(this.parts)
    this.resolve(this.isGzip ? unpacked(bytes, this.bytesMax) : bytes.toString('utf8'))
  }

  fail(e: Error): void {
    this.over()
    this.reject(e)
  }
}

/** Heads before that of the answer (RFC 9110, section 15.2). */
const isInterim = (status: number): boolean => status < 200

/** The text of a gzip member. */
async function unpacked(packed: Buffer, bytesMax: number): Promise<string> {
  const { gunzip } = await import('node:zlib')
  try {
    return (await promisify(gunzip)(packed, { maxOutputLength: bytesMax })).toString('utf8')
  } catch (e) {
    throw (e as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(bytesMax) : e
  }
}

const HEAD_END = '\r\n\r\n'

const STATUS_LINE = 'HTTP/1.1 200 '

/** A header of an answer (RFC 9110, section 5.6.2). */
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\t]*?)[ \t]*$/

/** Headers that change how long an answer is, or what its bytes are. */
const UNUSUAL: ReadonlySet<string> = new Set(['content-encoding', 'trailer', 'transfer-encoding', 'upgrade'])

/** The length of the body behind an ordinary head; undefined for any other head. */
function ordinaryLength(head: string): number | undefined {
  const [first = '', ...lines] = head.split('\r\n')
  if (!first.startsWith(STATUS_LINE)) return undefined
  let length: number | undefined
  for (const line of lines) {
    const [, name, value = ''] = LINE.exec(line) ?? []
    const known = name?.toLowerCase()
    if (known === undefined || UNUSUAL.has(known)) return undefined
    if (known === 'connection' && value.toLowerCase() !== 'keep-alive') return undefined
    if (known !== 'content-length') continue
    if (length !== undefined || !/^[0-9]{1,10}$/.test(value)) return undefined
    length = Number(value)
  }
  return length
}

/** One connection, with one request at a time. */
class Connection {
  /** Whether it takes another request. */
  isOpen = true
  private readonly socket: net.Socket
  private parser: InstanceType<typeof HTTPParser> | undefined
  private readonly free: (connection: Connection) => void
  private exchange: Exchange | undefined
  /** Whether the parser took bytes: it takes all that follow, so that none are left over in it. */
  private isParsing = false
  /** The head of the last answer: the next one may have the same. */
  private head = ''
  /** The length of the body behind it; undefined where the head is not ordinary. */
  private bodyBytes: number | undefined

  constructor({ host, port }: Target, free: (connection: Connection) => void) {
    this.free = free
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
    const callback = (bytes: number): boolean => {
      this.read(buffer, bytes)
      return true
    }
    const onread = { buffer, callback }
    this.socket = net.connect({ host, port: port === '' ? 80 : Number(port), noDelay: true, onread })
    // Each time: a callback of `setTimeout` is called once, perhaps while a request is under way.
    this.socket.setTimeout(FREE_MS).on('timeout', () => {
      if (this.exchange === undefined) this.end(new Error('idle'))
    })
    // An answer without a length ends with its connection.
    this.socket.on('end', () => this.end(this.parser?.finish() ?? new Error('the connection ended early')))
    this.socket.on('error', (e) => this.end(e))
    this.socket.on('close', () => this.end(new Error('the connection ended early')))
  }

  private makeParser(): InstanceType<typeof HTTPParser> {
    const parser = new HTTPParser(HTTPParser.RESPONSE)
    parser.maxHeaderSize = HEAD_BYTES_MAX
    let isLast = false
    parser[HTTPParser.kOnHeadersComplete] = ({ statusCode, headers, shouldKeepAlive }) => {
      isLast = !shouldKeepAlive && !isInterim(statusCode)
      const refused = this.exchange === undefined ? new Error('more than an answer') : this.exchange.head(statusCode, headers)
      if (refused !== undefined) this.end(refused)
    }
    parser[HTTPParser.kOnBody] = (part) => {
      const refused = this.exchange?.take(part)
      if (refused !== undefined) this.end(refused)
    }
    parser[HTTPParser.kOnMessageComplete] = () => {
      const { exchange } = this
      if (exchange === undefined || isInterim(exchange.status)) return
      this.answered(isLast)
      exchange.done()
    }
    return parser
  }

  /** Sends a request. */
  send(exchange: Exchange, text: string, encoding: 'latin1' | 'utf8'): void {
    this.exchange = exchange
    this.socket.ref()
    this.socket.write(text, encoding)
  }

  private read(buffer: Buffer, bytes: number): void {
    const { exchange } = this
    // Nothing was requested: whatever this is, the next answer would be taken for it.
    if (exchange === undefined) {
      this.end(new Error('an answer without a request'))
      return
    }
    const text = this.isParsing ? undefined : this.ordinary(buffer, bytes, exchange)
    if (text !== undefined) {
      this.answered(false)
      exchange.whole(text)
      return
    }
    this.isParsing = true
    this.parser ??= this.makeParser()
    const read = this.parser.execute(buffer.subarray(0, bytes))
    if (typeof read !== 'number') this.end(read)
  }

  /** The body of an answer that is whole and has an ordinary head; undefined for any other. */
  private ordinary(buffer: Buffer, bytes: number, { bytesMax }: Exchange): string | undefined {
    const headBytes = buffer.indexOf(HEAD_END, 0, 'latin1')
    const bodyAt = headBytes + HEAD_END.length
    // Behind what was read now are bytes of answers before it.
    if (headBytes < 0 || bodyAt > bytes) return undefined
    const head = buffer.toString('latin1', 0, headBytes)
    if (head !== this.head) {
      this.head = head
      this.bodyBytes = ordinaryLength(head)
    }
    if (bytes - bodyAt !== this.bodyBytes || this.bodyBytes > bytesMax) return undefined
    return buffer.toString('utf8', bodyAt, bytes)
  }

  /** The answer is there: the connection takes another request, or ends. */
  private answered(isLast: boolean): void {
    this.exchange = undefined
    if (isLast) this.end(new Error('closed'))
    else if (this.isOpen) {
      this.socket.unref()
      this.free(this)
    }
  }

  /** Closes it; a request under way fails. */
  end(e: Error): void {
    const { exchange } = this
    this.isOpen = false
    this.exchange = undefined
    this.socket.destroy()
    exchange?.fail(e)
  }
}

const cancelled = (): NoAnswer => new NoAnswer('the request was cancelled', false)

/**
 * Makes what posts to one node. No request is sent twice, and none after its time limit. Addresses
 * with TLS are posted to by node:http.
 */
export function keptPost(address: string, headers: PostOptions['headers']): KeptPost {
  const target = targetOf(address)
  if (target.isTls) return (body, options) => post(address, body, { ...options, ...(headers === undefined ? {} : { headers }) })
  const lines = Object.entries({ host: target.authority, ...headersFor(target, headers) }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${target.path} HTTP/1.1\r\n${lines.join('')}content-length: `
  const free: Connection[] = []
  const keep = (connection: Connection): void => {
    if (free.length < FREE_MAX) free.push(connection)
    else connection.end(new Error('not kept'))
  }
  /** The connection that was used last: the others grow old, and close. */
  const take = (): Connection => {
    for (let next = free.pop(); next !== undefined; next = free.pop()) if (next.isOpen) return next
    return new Connection(target, keep)
  }
  return async (body, { timeoutMs, answerBytesMax, signal }) => {
    if (signal?.aborted === true) throw cancelled()
    const exchange = new Exchange(answerBytesMax)
    const connection = take()
    exchange.timer = setTimeout(() => connection.end(noAnswer(undefined, true)), Math.ceil(timeoutMs))
    if (signal !== undefined) {
      const cancel = (): void => connection.end(cancelled())
      signal.addEventListener('abort', cancel, { once: true })
      exchange.forget = () => signal.removeEventListener('abort', cancel)
    }
    const bytes = Buffer.byteLength(body)
    connection.send(exchange, `${head}${bytes}\r\n\r\n${body}`, bytes === body.length ? 'latin1' : 'utf8')
    let answer: string
    try {
      answer = await exchange.answer
    } catch (e) {
      throw e instanceof Refused || e instanceof PostError || e instanceof NoAnswer ? e : noAnswer(e, false)
    }
    return parsed(answer)
  }
}
