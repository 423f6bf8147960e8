// One POST of JSON, with a deadline and a bound for its answer.

/** Largest answer that is read, in bytes. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024

/** A failure that no further attempt changes. */
export class Refused extends Error {
  override name = 'Refused'
}

/** HTTP statuses after which another attempt may help: the client is too fast, or the server is not well. */
const passes = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500

/** Posts a body and parses the answer. Throws `Refused` where another attempt is in vain, else an error that says why. */
export async function post(url: string, body: string, timeoutMs: number): Promise<unknown> {
  let response: Response
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
    })
  } catch (e) {
    throw new Error(reason(e))
  }
  if (!response.ok && !isJson(response)) {
    await response.body?.cancel()
    const why = `HTTP status ${response.status}`
    throw passes(response.status) ? new Error(why) : new Refused(why)
  }
  let answer: unknown
  try {
    answer = JSON.parse(await text(response))
  } catch (e) {
    if (e instanceof Refused) throw e
    throw new Error(e instanceof SyntaxError ? 'its answer is no JSON' : reason(e))
  }
  if (!response.ok && passes(response.status)) throw new Error(`HTTP status ${response.status}`)
  return answer
}

const isJson = (response: Response): boolean => response.headers.get('content-type')?.includes('json') === true

async function text(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > ANSWER_BYTES_MAX) throw new Refused(`an answer of more than ${ANSWER_BYTES_MAX} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Why a request failed; fetch hides it in the cause. */
function reason(e: unknown): string {
  const cause = e instanceof Error && e.cause instanceof Error ? e.cause : e
  if (!(cause instanceof Error)) return String(cause)
  const { code } = cause as NodeJS.ErrnoException
  return cause.name === 'TimeoutError' ? 'no answer' : cause.message === '' && code !== undefined ? code : cause.message
}
