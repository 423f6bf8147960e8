// One POST of JSON to another node, with a deadline and a bound for its answer.

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
  /** Code of the failed system call or of the HTTP client; undefined where there is none. */
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
}

/**
 * HTTP statuses after which another attempt may help: the client is too fast, or the server has a
 * temporary failure.
 */
const passes = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500

/**
 * The URL without user and password, and the header that carries them. `fetch` refuses URLs with
 * credentials, and its error would show them.
 */
function withoutCredentials(text: string): { readonly url: string; readonly headers: Record<string, string> } {
  const url = new URL(text)
  if (url.username === '' && url.password === '') return { url: text, headers: {} }
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  url.username = ''
  url.password = ''
  return { url: url.href, headers: { authorization: `Basic ${Buffer.from(user).toString('base64')}` } }
}

/**
 * The message of fetch for a port that no page may use (the bad ports of the Fetch standard); its
 * error has no code.
 */
const BAD_PORT = 'bad port'

/**
 * Posts a body and parses the answer. Throws `Refused` where another attempt is in vain, `NoAnswer`
 * where nothing came back, else an error that says why.
 */
export async function post(address: string, body: string, options: PostOptions): Promise<unknown> {
  const { timeoutMs, answerBytesMax = ANSWER_BYTES_MAX } = options
  const { url, headers } = withoutCredentials(address)
  let response: Response
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers, ...options.headers },
      body,
      // A redirect would let the other node send requests to any host that this machine reaches.
      redirect: 'manual',
      signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
    })
  } catch (e) {
    throw noAnswer(e)
  }
  const isRedirect = response.status >= 300 && response.status < 400
  if (isRedirect || (!response.ok && !isJson(response))) {
    await response.body?.cancel()
    const why = `HTTP status ${response.status}${isRedirect ? ', and redirects are not followed' : ''}`
    throw passes(response.status) ? new Error(why) : new Refused(why)
  }
  let answer: unknown
  try {
    answer = JSON.parse(await text(response, answerBytesMax))
  } catch (e) {
    if (e instanceof Refused) throw e
    throw e instanceof SyntaxError ? new Error('its answer is no JSON') : noAnswer(e)
  }
  if (!response.ok && passes(response.status)) throw new Error(`HTTP status ${response.status}`)
  return answer
}

const isJson = (response: Response): boolean => response.headers.get('content-type')?.includes('json') === true

async function text(response: Response, bytesMax: number): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > bytesMax) throw new Refused(`an answer of more than ${bytesMax} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/**
 * Why a request got no answer; fetch hides it in the cause. `Refused` if nothing was sent and never
 * will be.
 */
function noAnswer(e: unknown): NoAnswer | Refused {
  const cause = e instanceof Error && e.cause instanceof Error ? e.cause : e
  if (!(cause instanceof Error)) return new NoAnswer(String(cause), false)
  if (cause.message === BAD_PORT) return new Refused('bad port: the Fetch standard has it among those that are never connected to')
  const { code } = cause as NodeJS.ErrnoException
  const named = typeof code === 'string' ? code : undefined
  if (cause.name === 'TimeoutError') return new NoAnswer('no answer', true, named)
  return new NoAnswer(cause.message === '' && named !== undefined ? named : cause.message, false, named)
}

/** A URL as messages show it: keys of hosted nodes stand in its path, its user and its query. */
export function shownUrl(url: string): string {
  try {
    return new URL(url).origin
  } catch {
    return 'a node'
  }
}
