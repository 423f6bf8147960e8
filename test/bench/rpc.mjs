// Requests of benches: timed ones whose answer is thrown away, and ones whose answer is compared.
import http from 'node:http'

/** An error stands at the beginning of an answer. */
const ERROR_WITHIN_BYTES = 100

const agent = new http.Agent({ keepAlive: true })

/**
 * Posts a request. Not by `fetch`, which fails after five minutes without an answer; some answers
 * take longer.
 */
function post(url, method, params, encoding) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'accept-encoding': encoding }
  return new Promise((resolve, reject) => {
    http.request(url, { method: 'POST', headers, agent }, resolve).once('error', reject).end(body)
  })
}

/**
 * The size of the answer on the wire, its headers, and the milliseconds until its last byte;
 * `take` gets every chunk.
 *
 * @param {string} url
 * @param {string} method
 * @param {unknown} params
 * @param {{ encoding?: string, take?: (chunk: Buffer) => void }} options
 */
export async function ask(url, method, params, { encoding = 'identity', take } = {}) {
  const began = process.hrtime.bigint()
  const response = await post(url, method, params, encoding)
  let bytes = 0
  let error
  // By events: an iterator over the chunks takes longer than some nodes take to make them.
  await new Promise((resolve, reject) => {
    response.on('data', (chunk) => {
      // An error comes fast, and must not be taken for a fast answer.
      if (bytes === 0 && chunk.subarray(0, ERROR_WITHIN_BYTES).includes('"error":{"code"')) error = new Error(chunk.toString())
      bytes += chunk.length
      take?.(chunk)
    })
    response.once('end', resolve).once('error', reject)
  })
  if (error) throw error
  return { ms: Number(process.hrtime.bigint() - began) / 1e6, bytes, headers: response.headers }
}

/** The parsed result; throws where it is an error. */
export async function result(url, method, params) {
  const { result, error } = JSON.parse(Buffer.concat(await (await post(url, method, params, 'identity')).toArray()).toString())
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}

/** JSON with its keys sorted. */
export function canonical(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const keys = Object.keys(value).sort()
  return `{${keys.map((k) => `${JSON.stringify(k)}:${canonical(value[k])}`).join(',')}}`
}

/** Steps of the struct logs in an answer, counted without keeping it. */
export class StepCounter {
  count = 0
  #rest = ''
  take = (chunk) => {
    const text = this.#rest + chunk.toString('latin1')
    for (let at = text.indexOf('{"pc":'); at !== -1; at = text.indexOf('{"pc":', at + 6)) this.count++
    this.#rest = text.slice(-5)
  }
}
