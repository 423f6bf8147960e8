// One POST of JSON to another node, with a deadline and a bound for its answer. Connections stay
// open between requests. Requests that a client of this node waits for take `kept.ts`.
import http from 'node:http'

/** Largest answer that is read where the caller names no bound, in bytes. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024

/** A failure that no further attempt changes. */
export class Refused extends Error {
  override name = 'Refused'
}

/** A request that got no answer: it timed out, or its connection failed. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
  readonly timedOut: boolean
  /** Code of the failed system call or of node:http; undefined where there is none. */
  readonly code: string | undefined

  constructor(message: string, timedOut: boolean, code?: string) {
    super(message)
    this.timedOut = timedOut
    this.code = code
  }
}

/** Bounds of one request. */
export interface PostOptions {
  /** Longest time until the whole answer is read, in milliseconds. */
  readonly timeoutMs: number
  /** Largest answer, in bytes. */
  readonly answerBytesMax?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the request; it counts as one without an answer. */
  readonly signal?: AbortSignal
}

/**
 * HTTP statuses after which another attempt may help: the client is too fast, or the server has a
 * temporary failure.
 */
const passes = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500

/** Where a request goes: what node:http takes, with user and password as a header. */
export interface Target {
  /** Host and port, as the header `host` has them. */
  readonly authority: string
  readonly isTls: boolean
  readonly host: string
  readonly port: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Whether answers are requested in gzip: over loopback, packing takes longer than sending. */
  readonly isRemote: boolean
}

/** Names and addresses of this machine itself. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/

/** Addresses whose parts are kept: those of an operator's settings. */
const TARGETS_MAX = 256

const targets = new Map<string, Target>()

/** The parts of an address. Credentials become a header, so that no message shows them. */
export function targetOf(address: string): Target {
  const known = targets.get(address)
  if (known !== undefined) return known
  const { host: authority, protocol, hostname, port, pathname, search, username, password } = new URL(address)
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const target = {
    authority,
    isTls: protocol === 'https:',
    isRemote: !LOOPBACK.test(host),
    host,
    port,
    path: `${pathname}${search}`,
    headers: username === '' && password === '' ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` },
  }
  if (targets.size < TARGETS_MAX) targets.set(address, target)
  return target
}

/** Connections to one node that are kept open without a request. */
const FREE_SOCKETS_MAX = 32

/**
 * How long such a connection is kept, in milliseconds: less than the five seconds after which
 * servers of Node close one, so that no request meets a connection that is being closed.
 */
export const FREE_MS = 4000

const kept = { keepAlive: true, maxFreeSockets: FREE_SOCKETS_MAX, timeout: FREE_MS }
const plain = new http.Agent(kept)
/** Made with the first request over TLS, whose modules a start does not load. */
let secure: Promise<{ readonly request: typeof http.request; readonly agent: http.Agent }> | undefined

const overTls = async (): Promise<{ readonly request: typeof http.request; readonly agent: http.Agent }> => {
  const https = await import('node:https')
  return { request: https.request, agent: new https.Agent(kept) }
}

/** The headers of a request, without the length of its body. */
export const headersFor = (target: Target, headers: PostOptions['headers']): Record<string, string> => ({
  'content-type': 'application/json',
  ...(target.isRemote ? { 'accept-encoding': 'gzip' } : {}),
  // Hosted nodes may refuse requests without one.
  'user-agent': 'hearth',
  ...target.headers,
  ...headers,
})

/** A request that was sent, and its response once the head of that is there. */
interface Begun {
  readonly outgoing: http.ClientRequest
  readonly coming: Promise<http.IncomingMessage>
}

/** Begins a request, with its body. */
async function begin(address: string, body: string, headers: PostOptions['headers']): Promise<Begun> {
  const target = targetOf(address)
  secure ??= target.isTls ? overTls() : undefined
  const { request, agent } = target.isTls && secure !== undefined ? await secure : { request: http.request, agent: plain }
  const { host, port, path } = target
  const bytes = Buffer.from(body)
  const sent = { ...headersFor(target, headers), 'content-length': bytes.length }
  const outgoing = request({ agent, method: 'POST', host, port, path, headers: sent })
  // Listened to at once: where a connection fails without waiting (no route, no file descriptor
  // left), the error comes before the caller can listen, and would end the process.
  const coming = responseTo(outgoing)
  coming.catch(() => undefined)
  outgoing.end(bytes)
  return { outgoing, coming }
}

/** The response to a request, once its head is there. */
const responseTo = (outgoing: http.ClientRequest): Promise<http.IncomingMessage> =>
  new Promise((resolve, reject) => {
    outgoing.once('response', resolve)
    // Also of a connection that ends later, where the response has the error too.
    outgoing.on('error', reject)
  })

/**
 * Posts a body and parses the answer; see {@link postForBytes}. An answer that is no JSON is an
 * error too.
 */
export const post = async (address: string, body: string, options: PostOptions): Promise<unknown> =>
  parsed((await postForBytes(address, body, options)).toString('utf8'))

/**
 * Posts a body; resolves to the bytes of the answer. Throws `Refused` where another attempt is in
 * vain, `NoAnswer` where nothing came back, else an error that says why. No redirect is followed:
 * it would let the other node send requests to any host that this machine reaches.
 */
export async function postForBytes(address: string, body: string, options: PostOptions): Promise<Buffer> {
  const { timeoutMs, answerBytesMax = ANSWER_BYTES_MAX, signal } = options
  if (signal?.aborted) throw new NoAnswer('the request was cancelled', false)
  const { outgoing, coming } = await begin(address, body, options.headers)
  let timedOut = false
  // Without an AbortSignal, which takes longer to make than the rest of a short request here.
  const cancel = (): void => void outgoing.destroy(new Error('the request was cancelled'))
  const timer = setTimeout(() => {
    timedOut = true
    outgoing.destroy(new Error('no answer'))
  }, Math.ceil(timeoutMs))
  signal?.addEventListener('abort', cancel)
  try {
    const response = await coming
    const status = response.statusCode ?? 0
    const refused = refusalOf(status, response.headers['content-type'])
    if (refused !== undefined) {
      response.destroy()
      throw refused
    }
    const answer = await bytesOf(response, answerBytesMax)
    const passing = passingOf(status)
    if (passing !== undefined) throw passing
    return answer
  } catch (e) {
    // An answer that was read to its end leaves its connection to others.
    if (!(e instanceof PostError)) outgoing.destroy()
    throw e instanceof Refused || e instanceof PostError ? e : noAnswer(e, timedOut)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
  }
}

/** An answer that is of no use, where another attempt may help. */
export class PostError extends Error {
  /** The status of HTTP that says so; undefined where the answer itself is of no use. */
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

const isOk = (status: number): boolean => status >= 200 && status < 300

/** Why a response with this head is not read; undefined where it is. */
export function refusalOf(status: number, type: string | undefined): Error | undefined {
  const isRedirect = status >= 300 && status < 400
  if (!isRedirect && (isOk(status) || type?.includes('json') === true)) return undefined
  const why = `HTTP status ${status}${isRedirect ? ', and redirects are not followed' : ''}`
  return passes(status) ? new PostError(why, status) : new Refused(why)
}

/** The failure of a response that was read, where its status says that another attempt may help. */
export const passingOf = (status: number): PostError | undefined =>
  !isOk(status) && passes(status) ? new PostError(`HTTP status ${status}`, status) : undefined

/** The failure of an answer with more bytes than may be read. */
export const tooLarge = (bytesMax: number): Refused => new Refused(`an answer of more than ${bytesMax} bytes`)

/** The value of an answer; an answer that is no JSON is an error. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new PostError('its answer is no JSON')
  }
}

/** The body of a response, unpacked where it is gzip. */
async function bytesOf(response: http.IncomingMessage, bytesMax: number): Promise<Buffer> {
  const isGzip = response.headers['content-encoding'] === 'gzip'
  const parts: Buffer[] = []
  let bytes = 0
  /** Keeps a part; returns the failure once there is more than may be read. */
  const take = (part: Buffer): Refused | undefined => {
    bytes += part.length
    parts.push(part)
    return bytes > bytesMax ? tooLarge(bytesMax) : undefined
  }
  if (isGzip) {
    const { createGunzip } = await import('node:zlib')
    const unpacked = createGunzip()
    response.once('error', (e) => unpacked.destroy(e))
    for await (const part of response.pipe(unpacked)) {
      const refused = take(part as Buffer)
      if (refused === undefined) continue
      response.destroy()
      throw refused
    }
  } else {
    await new Promise<void>((resolve, reject) => {
      response.on('data', (part: Buffer) => {
        const refused = take(part)
        if (refused !== undefined) response.destroy(refused)
      })
      response.once('end', resolve).once('error', reject)
    })
  }
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
}

/** Why a request got no answer. */
export function noAnswer(e: unknown, timedOut: boolean): NoAnswer {
  if (timedOut) return new NoAnswer('no answer', true)
  if (!(e instanceof Error)) return new NoAnswer(String(e), false)
  const { code } = e as NodeJS.ErrnoException
  const named = typeof code === 'string' ? code : undefined
  return new NoAnswer(e.message === '' && named !== undefined ? named : e.message, false, named)
}

/** A URL as messages show it: keys of hosted nodes stand in its path, its user and its query. */
export function shownUrl(url: string): string {
  try {
    return new URL(url).origin
  } catch {
    return 'a node'
  }
}
