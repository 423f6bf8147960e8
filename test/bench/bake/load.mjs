// Load over raw sockets: a client that costs less than any server that it measures.
import net from 'node:net'

/** Connections that send requests at the same time. */
const CONNECTIONS = 16

/** A request's bytes. */
export function requestBytes(body, encoding) {
  const head = ['POST / HTTP/1.1', 'host: localhost', 'content-type: application/json', `accept-encoding: ${encoding}`]
  return Buffer.from(`${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

const END = '0\r\n\r\n'

/** Follows one answer as its bytes come: with a length, or in chunks. */
class Answer {
  #head = ''
  #left
  #tail = ''

  /** Takes bytes; true once the answer is whole. */
  take(bytes) {
    if (this.#left === undefined && this.#tail === '') {
      this.#head += bytes.toString('latin1')
      const end = this.#head.indexOf('\r\n\r\n')
      if (end < 0) return false
      const head = this.#head.slice(0, end).toLowerCase()
      if (!head.startsWith('http/1.1 200')) throw new Error(head)
      const length = /\r\ncontent-length: (\d+)/.exec(head)
      const rest = this.#head.slice(end + 4)
      if (length) this.#left = Number(length[1]) - rest.length
      else this.#tail = `#${rest.slice(-END.length)}`
    } else if (this.#left !== undefined) this.#left -= bytes.length
    else this.#tail = `#${(this.#tail + bytes.subarray(-END.length).toString('latin1')).slice(-END.length)}`
    return this.#left === undefined ? this.#tail.endsWith(END) : this.#left === 0
  }
}

/**
 * One connection that sends the requests in turn, from `at` on, until `until`; returns the number
 * of answers.
 */
function connection(port, requests, at, until) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    let answers = 0
    let answer
    const ask = () => {
      answer = new Answer()
      socket.write(requests[at++ % requests.length])
    }
    socket.once('connect', ask).once('error', reject)
    socket.on('data', (bytes) => {
      try {
        if (!answer.take(bytes)) return
      } catch (e) {
        return reject(e)
      }
      answers++
      if (performance.now() < until) ask()
      else socket.end(() => resolve(answers))
    })
  })
}

/** Answers per second of a server that receives the requests in turn for so many milliseconds. */
export async function rate(port, requests, ms) {
  const began = performance.now()
  const step = Math.max(1, Math.floor(requests.length / CONNECTIONS))
  const connections = Array.from({ length: CONNECTIONS }, (_, i) => connection(port, requests, i * step, began + ms))
  const answers = (await Promise.all(connections)).reduce((a, b) => a + b, 0)
  return (answers * 1000) / (performance.now() - began)
}
