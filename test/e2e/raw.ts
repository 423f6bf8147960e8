// Clients that keep nothing: answers of any length go through a callback, over HTTP and over
// WebSocket.
import crypto from 'node:crypto'
import http from 'node:http'
import type { Duplex, Readable } from 'node:stream'

/** Receives the bytes of an answer, in order. */
export type Take = (bytes: Buffer) => void

/** Reads no more for so many milliseconds. */
function rest(readable: Readable, restMs: number): void {
  if (restMs === 0) return
  readable.pause()
  setTimeout(() => readable.resume(), restMs)
}

/**
 * Posts a body; resolves when the whole answer has arrived. A slow reader pauses after each piece,
 * for `restMs` milliseconds.
 */
export function post(url: string, body: string, take: Take, restMs = 0): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
      response.on('data', (bytes: Buffer) => {
        take(bytes)
        rest(response, restMs)
      })
      response.on('end', resolve)
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** A text frame as clients send it, masked with zeros (RFC 6455, section 5.2). */
function clientFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  const head = Buffer.from([0x81, 0x80 | 126, payload.length >> 8, payload.length & 0xff, 0, 0, 0, 0])
  return Buffer.concat([head, payload])
}

/** Splits what a server sends into frames; `last` after the one that ends a message. */
function frames(socket: Duplex, take: Take, last: () => void): void {
  let head = Buffer.alloc(0)
  let left = 0
  let final = false
  socket.on('data', (data: Buffer) => {
    let rest = data
    while (rest.length > 0) {
      if (left > 0) {
        const part = rest.subarray(0, left)
        take(part)
        left -= part.length
        rest = rest.subarray(part.length)
        if (left === 0 && final) last()
        continue
      }
      head = Buffer.concat([head, rest.subarray(0, 1)])
      rest = rest.subarray(1)
      const short = (head[1] ?? 0) & 0x7f
      const need = head.length < 2 ? 2 : short === 127 ? 10 : short === 126 ? 4 : 2
      if (head.length < need) continue
      left = short === 127 ? Number(head.readBigUInt64BE(2)) : short === 126 ? head.readUInt16BE(2) : short
      final = ((head[0] ?? 0) & 0x80) !== 0
      head = Buffer.alloc(0)
      if (left === 0 && final) last()
    }
  })
}

/**
 * Sends a message over a new WebSocket; resolves when the whole answer has arrived. A slow reader
 * pauses as in `post`.
 */
export function message(url: string, body: string, take: Take, restMs = 0): Promise<void> {
  return new Promise((resolve, reject) => {
    const key = crypto.randomBytes(16).toString('base64')
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key }
    const request = http.request(url.replace('ws:', 'http:'), { headers })
    request.on('error', reject)
    request.on('upgrade', (_, socket) => {
      socket.on('error', reject)
      frames(socket, take, () => {
        socket.destroy()
        resolve()
      })
      socket.on('data', () => rest(socket, restMs))
      socket.write(clientFrame(body))
    })
    request.end()
  })
}
