// One client process that keeps several HTTP connections busy: requests per second and the duration
// of each.
import net from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/**
 * Bytes of an answer, head included, once it is complete; undefined before. Answers arrive one at a
 * time.
 */
function answerLength(bytes) {
  const end = bytes.indexOf(HEAD_END)
  if (end === -1) return undefined
  const head = bytes.subarray(0, end).toString('latin1').toLowerCase()
  if (!head.startsWith('http/1.1 200')) throw new Error(`refused: ${bytes.subarray(0, 300)}`)
  const length = /content-length: (\d+)/.exec(head)?.[1]
  if (length !== undefined) {
    const whole = end + 4 + Number(length)
    return bytes.length >= whole ? whole : undefined
  }
  return bytes.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) ? bytes.length : undefined
}

/** A request as it goes over the wire. */
export function wire(url, body) {
  const { host } = new URL(url)
  const head = `POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\naccept-encoding: identity\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  return Buffer.from(head + body)
}

/**
 * Sends requests over one connection until the time is over; `took` collects the milliseconds of
 * each.
 *
 * @returns {Promise<void>}
 */
function worker(url, next, until, took) {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
    let parts = []
    let size = 0
    let began = 0
    const send = () => {
      began = performance.now()
      if (began >= until) socket.end(() => resolve())
      else socket.write(next())
    }
    socket.once('connect', send)
    socket.once('error', reject)
    socket.on('data', (chunk) => {
      parts.push(chunk)
      size += chunk.length
      const tail = chunk.length >= LAST_CHUNK.length || parts.length === 1
      // Large answers are put together once, when their end may have come.
      if (parts.length > 1 && !tail) parts = [Buffer.concat(parts, size)]
      try {
        const whole = parts.length === 1 ? parts[0] : Buffer.concat(parts, size)
        if (answerLength(whole) === undefined) {
          parts = [whole]
          return
        }
        if (whole.includes('"error":{"code"')) throw new Error(`an error: ${whole.subarray(0, 400)}`)
      } catch (e) {
        socket.destroy()
        return reject(e)
      }
      took.push(performance.now() - began)
      parts = []
      size = 0
      send()
    })
  })
}

/**
 * Keeps `connections` connections busy for `ms` milliseconds with the requests that `next` returns.
 * Resolves to the milliseconds of each and the requests per second.
 */
export async function load(url, next, { ms, connections }) {
  const took = []
  const began = performance.now()
  await Promise.all(Array.from({ length: connections }, () => worker(url, next, began + ms, took)))
  return { took, perSecond: (took.length / (performance.now() - began)) * 1000 }
}

/** The time that one in a hundred exceeds. */
export const p99 = (times) => [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * 0.99))]
