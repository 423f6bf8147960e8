// The attacks. Each is bounded in size and time, uses loopback only, and returns its outcome in a
// few words.
import { randomBytes } from 'node:crypto'
import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { CROWDS } from './crowds.mjs'
import { MIB } from './node.mjs'
import { OWN_PROCESSES } from './processes.mjs'
import { ANSWER_MS_MAX, ATTACKER, asking, LOOPS, looping, otherTrace, post } from './requests.mjs'

/** Text of so many bytes: a head, one unit over and over, a tail. */
function filled(head, unit, tail, bytes) {
  const times = Math.floor((bytes - head.length - tail.length) / Buffer.byteLength(unit))
  return Buffer.from(head + unit.repeat(times) + tail)
}

const request = (method) => `{"jsonrpc":"2.0","id":1,"method":"${method}","params":[`
const DATA = `${request('eth_call')}{"data":"0x`

/** Bodies by name: what makes them, and what the answer must hold. */
/** @type {Record<string, [make: (bytes: number) => Buffer, answer: string]>} */
const BODIES = {
  'batch of numbers': [(n) => filled('[', '0,', '0]', n), 'batch too large'],
  'batch of empty arrays': [(n) => filled('[', '[],', '0]', n), 'batch too large'],
  'batch of requests': [(n) => filled('[', '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"},', '0]', n), 'batch too large'],
  'opening brackets': [(n) => filled('', '[', '', n), 'parse error'],
  'empty objects as parameters': [(n) => filled(request('eth_call'), '{},', '0]}', n), 'request too large'],
  'members with names of their own': [
    () => Buffer.from(`${request('eth_call')}{${Array.from({ length: 400_000 }, (_, i) => `"k${i}":0`).join()}}]}`),
    'request too large',
  ],
  'white space': [(n) => filled('[', ' ', '0]', n), 'invalid request'],
  'one number': [(n) => filled('', '1', '', n), 'invalid request'],
  'escapes in a string': [(n) => filled(`${request('eth_call')}"`, '\\"', '"]}', n), 'invalid argument'],
  'Cyrillic in a string': [(n) => filled(`${request('eth_call')}"`, 'я', '"]}', n), 'invalid argument'],
  'hex in a string': [(n) => filled(DATA, 'ab', '"},"latest"]}', n), 'max initcode size exceeded'],
}

/** Sends a message; resolves to the answer, or how the connection ended. */
async function say(url, body) {
  const socket = new WebSocket(url, { localAddress: ATTACKER, perMessageDeflate: false })
  const answer = new Promise((resolve) => {
    socket.on('error', (e) => resolve(`failed: ${e.message}`))
    socket.on('message', (data) => resolve(data.toString().slice(0, 1000)))
    socket.on('close', (code) => resolve(`closed with ${code}`))
    setTimeout(() => resolve('no answer'), ANSWER_MS_MAX).unref()
  })
  socket.on('open', () => socket.send(body, { binary: false }))
  const text = await answer
  socket.terminate()
  return text
}

/** A WebSocket whose frames are written by hand. */
async function rawSocket(url) {
  const { hostname, port } = new URL(url)
  const socket = net.connect({ host: hostname, port: Number(port), localAddress: ATTACKER })
  socket.on('error', () => undefined)
  const key = randomBytes(16).toString('base64')
  const head = ['GET / HTTP/1.1', 'Host: localhost', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Key: ${key}`]
  socket.write(`${[...head, 'Sec-WebSocket-Version: 13'].join('\r\n')}\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
  return socket
}

/** The first frame of a text message that continues, with a mask of zeros. */
function beginning(bytes) {
  const head = Buffer.from([0x01, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  head.writeUInt32BE(bytes, 6)
  return Buffer.concat([head, Buffer.alloc(bytes, 0x20)])
}

const isOpen = (socket) => !socket.destroyed && !socket.readableEnded

/** How many of these connections the other end has not closed. */
async function openOf(sockets) {
  for (const socket of sockets) socket.resume()
  await sleep(500)
  return sockets.filter(isOpen).length
}

/**
 * Sends requests whose answers of 8 MB are never read. Resolves once the node has cut them all off,
 * or after `waitMs`, to the number that it has not.
 */
async function neverRead(node, count, waitMs) {
  const { hostname, port, host } = new URL(node.url)
  const to = '0x00000000000000000000000000000000000d00d5'
  const call = { to, gas: '0x2faf080' }
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_call',
    params: [call, 'latest', { [to]: { code: '0x63003d09005ff3' } }],
  })
  const text = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const before = node.openFiles()
  const sockets = Array.from({ length: count }, () => {
    const socket = net.connect({ host: hostname, port: Number(port), localAddress: ATTACKER })
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(text)
    return socket
  })
  await sleep(2000)
  const open = () => Math.max(0, node.openFiles() - before)
  for (const until = performance.now() + waitMs; open() > 0 && performance.now() < until; ) await sleep(200)
  const left = open()
  for (const socket of sockets) socket.destroy()
  return left
}

/**
 * Requests endless traces whose answers are never read; returns the answer to another address's
 * trace meanwhile.
 */
async function unreadTraces({ url }, count) {
  const { hostname, port, host } = new URL(url)
  const body = asking('debug_traceCall', [{ to: LOOPS, gas: '0xe8d4a51000' }, 'latest', { timeout: '10m', stateOverrides: looping }])
  const text = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const sockets = Array.from({ length: count }, () => {
    const socket = net.connect({ host: hostname, port: Number(port), localAddress: ATTACKER })
    socket.on('error', () => undefined).pause()
    socket.write(text)
    return socket
  })
  await sleep(3000)
  const answer = await otherTrace(url)
  const open = sockets.filter((socket) => !socket.destroyed).length
  for (const socket of sockets) socket.destroy()
  return `open: ${open}, ${answer}`
}

/** What bodies cost before there were limits ahead of the work, where that was measured. */
const BEFORE_HTTP = { 'batch of numbers': '20.2 s, +2.8 GB', 'opening brackets': '0.8 s' }
const BEFORE_WEBSOCKET = { 'batch of numbers': 'process dead after 150 s (16 MB)' }

/** Memory that a body over HTTP may take, in MiB: three times its size. */
const BODY_MEMORY_MIB = 3 * 5

/**
 * All attacks: settings of the node, what is done, the bounds that must hold, and what was measured
 * before there was a defence.
 *
 * @type {Record<string, any>[]}
 */
export const ATTACKS = [
  { name: 'nothing', run: () => sleep(2000).then(() => 'done'), outcome: 'done' },
  ...Object.entries(BODIES).map(([name, [make, answer]]) => ({
    name: `5 MiB over HTTP: ${name}`,
    before: BEFORE_HTTP[name],
    run: ({ url }) => post(url, make(5 * MIB)),
    outcome: answer,
    threadMs: 50,
    memoryMiB: BODY_MEMORY_MIB,
  })),
  ...['batch of numbers', 'opening brackets', 'white space', 'Cyrillic in a string', 'hex in a string'].map((name) => ({
    name: `32 MiB over WebSocket: ${name}`,
    before: BEFORE_WEBSOCKET[name],
    settings: ['--evm.ws_max_payload_bytes=32MiB'],
    run: ({ ws }) => say(ws, BODIES[name][0](32 * MIB - 1024)),
    // Of such a size only ASCII is read.
    outcome: name.startsWith('Cyrillic') ? 'closed with 1009' : BODIES[name][1],
    threadMs: 150,
    memoryMiB: 3 * 32,
  })),
  {
    name: '8 MiB over WebSocket by default',
    run: ({ ws }) => say(ws, BODIES['batch of numbers'][0](8 * MIB)),
    outcome: 'closed with 1009',
    memoryMiB: 3 * 8,
  },
  {
    name: 'a body in chunks of one byte',
    run: ({ url }) =>
      new Promise((resolve) => {
        const { hostname, port, host } = new URL(url)
        const socket = net.connect({ host: hostname, port: Number(port), localAddress: ATTACKER })
        const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
        socket
          .on('error', (e) => resolve(e.message))
          .on('data', (data) => {
            resolve(data.toString())
            socket.destroy()
          })
        socket.write(Buffer.concat([Buffer.from(head), Buffer.from('1\r\n[\r\n'.repeat(MIB)), Buffer.from('0\r\n\r\n')]))
      }),
    outcome: '400 Bad Request',
    threadMs: 100,
    memoryMiB: 48,
  },
  {
    name: '700,000 empty frames, then gone',
    before: 'no answer for 7 minutes',
    run: async ({ ws }) => {
      const socket = await rawSocket(ws)
      socket.pause()
      const frame = Buffer.from([0x81, 0x80, 0, 0, 0, 0])
      socket.write(Buffer.alloc(700_000 * frame.length, frame))
      await sleep(1000)
      socket.destroy()
      await sleep(3000)
      return 'done'
    },
    outcome: 'done',
    threadMs: 2000,
    memoryMiB: 64,
  },
  {
    name: '20 clients that never read 8 MB',
    before: 'never cut off; +481 MB for 40',
    settings: ['--evm.write_timeout=3s', '--evm.simulation_gas_limit=60000000'],
    run: async (node) => `open: ${await neverRead(node, 20, 40_000)} of 20`,
    outcome: 'open: 0 of 20',
  },
  {
    name: '30 unfinished messages of 8 MiB',
    before: 'all kept; +1719 MB for 60 of 31 MiB',
    settings: [
      '--evm.ws_max_payload_bytes=32MiB',
      '--evm.max_concurrent_request_bytes=64MiB',
      '--evm.ws_admission_timeout=2s',
      '--evm.read_timeout=5s',
    ],
    run: async ({ ws }) => {
      const sockets = []
      for (let i = 0; i < 30; i++) {
        const socket = await rawSocket(ws)
        socket.write(beginning(8 * MIB))
        sockets.push(socket)
      }
      await sleep(14_000)
      const open = await openOf(sockets)
      for (const socket of sockets) socket.destroy()
      return `open: ${open} of 30`
    },
    outcome: 'open: 0 of 30',
    memoryMiB: 64 * 2.5,
  },
  {
    name: '1,100 silent connections of one address',
    before: 'others reset for 30 s',
    settings: ['--evm.max_open_connections=1100'],
    run: async ({ url }) => {
      const { hostname, port } = new URL(url)
      const sockets = Array.from({ length: 1100 }, () => {
        const socket = net.connect({ host: hostname, port: Number(port), localAddress: ATTACKER })
        return socket.on('error', () => undefined)
      })
      await sleep(1000)
      const other = await new Promise((resolve) => {
        const asked = http.request(url, { method: 'GET', agent: false, localAddress: '127.0.0.4' }, (response) => {
          response.resume()
          resolve(`another client: ${response.statusCode}`)
        })
        asked.on('error', (/** @type {NodeJS.ErrnoException} */ e) => resolve(`another client: ${e.code}`)).end()
      })
      for (const socket of sockets) socket.destroy()
      return other
    },
    outcome: 'another client: 200',
  },
  {
    name: 'all subscriptions to new heads by one address',
    before: 'others refused',
    settings: ['--evm.max_subscriptions_new_head=1000'],
    run: async ({ ws }) => {
      const subscribe = (localAddress, count) =>
        new Promise((resolve, reject) => {
          const socket = new WebSocket(ws, { localAddress })
          let answers = 0
          socket.on('error', reject)
          socket.on('message', (data) => {
            if (++answers === count) resolve([socket, data.toString()])
          })
          socket.on('open', () => {
            for (let id = 0; id < count; id++)
              socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: ['newHeads'] }))
          })
        })
      const [greedy] = await subscribe(ATTACKER, 1000)
      const [other, answer] = await subscribe('127.0.0.4', 1)
      greedy.terminate()
      other.terminate()
      return answer
    },
    outcome: '"result":"0x',
  },
  {
    name: '12 traces without end that nobody reads',
    before: 'others wait 28.7 s for one such trace',
    settings: ['--evm.simulation_gas_limit=1000000000000', '--evm.trace_stall_timeout=5m'],
    run: (node) => unreadTraces(node, 12),
    outcome: 'open: 12, another client: 200 {"jsonrpc":"2.0","id":1,"result":{"type":"CALL"',
    memoryMiB: 12 * 16,
  },
  {
    name: '10,000 endless calls in one debug_traceCallMany',
    before: 'others refused after 30 s',
    run: async ({ url }) => {
      const transactions = Array(50).fill({ to: LOOPS, gas: '0x2faf080' })
      const bundles = Array(200).fill({ transactions })
      const attack = post(url, asking('debug_traceCallMany', [bundles, {}, { tracer: 'callTracer', stateOverrides: looping }]))
      const other = await otherTrace(url)
      return other.includes('"result":{"type":"CALL"') ? (await attack).slice(-300) : other
    },
    outcome: 'err: gas limit reached (supplied gas 50000000)',
    memoryMiB: 64,
  },
  {
    name: 'a page of another origin',
    before: 'let in',
    run: ({ ws }) =>
      new Promise((resolve) => {
        const socket = new WebSocket(ws, { origin: 'https://evil.example' })
        socket.on('open', () => resolve('open')).on('error', (e) => resolve(e.message))
      }),
    outcome: 'Unexpected server response: 403',
  },
  ...CROWDS,
  ...OWN_PROCESSES,
]
