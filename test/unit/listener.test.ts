// Opening and closing a listener.
import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import v8 from 'node:v8'
import vm from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createServer, isSending } from '../../ts/server/connections.ts'
import { listen, stopListener } from '../../ts/server/listener.ts'

const SERVERS = 20

v8.setFlagsFromString('--expose-gc')
const gc = vm.runInNewContext('gc') as () => void

/** Opens a server, serves one request, closes the server. */
async function openAndClose(): Promise<WeakRef<http.Server>> {
  const server = http.createServer((_, response) => response.end('served'))
  const port = await listen(server, '127.0.0.1', 0, 'evm.http_port')
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
  expect(await answer.text()).toBe('served')
  await stopListener(server, 1000)
  return new WeakRef(server)
}

const held = (servers: readonly WeakRef<http.Server>[]): number => servers.filter((server) => server.deref() !== undefined).length

describe('a listener that stops', () => {
  it('sends answers to their end that the client takes late', async () => {
    const bytes = 32 * 1024 * 1024
    const options = { keepAliveTimeout: 60_000 }
    const server = createServer(options, (_, response) => response.end(Buffer.alloc(bytes, 'x')))
    const port = await listen(server, '127.0.0.1', 0, 'evm.http_port')
    const response = await new Promise<http.IncomingMessage>((resolve) => http.get({ port, host: '127.0.0.1' }, resolve))
    const stopped = stopListener(server, 20_000)
    // Longer than idle connections are kept.
    await sleep(400)
    let got = 0
    for await (const chunk of response) got += (chunk as Buffer).length
    expect(got).toBe(bytes)
    await stopped
  })
})

describe('a response that waits for the one before it', () => {
  it('closes with its connection, and does not delay a stop', async () => {
    const closed: string[] = []
    const options = { keepAliveTimeout: 60_000 }
    const server = createServer(options, ({ url = '' }, response) => {
      response.once('close', () => closed.push(url))
      // The first one has no answer.
      if (url !== '/1') response.end('x')
    })
    const port = await listen(server, '127.0.0.1', 0, 'evm.http_port')
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    const came = new Promise<void>((resolve) => server.on('request', ({ url }) => url === '/3' && resolve()))
    for (const path of ['/1', '/2', '/3']) socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    await came
    expect(closed).toEqual([])
    socket.destroy()
    await expect.poll(() => closed.toSorted()).toEqual(['/1', '/2', '/3'])
    expect(isSending(server)).toBe(false)
    await stopListener(server, 60_000)
  })
})

describe('a closed listener', () => {
  it('is collected, timers included', async () => {
    const servers: WeakRef<http.Server>[] = []
    for (let i = 0; i < SERVERS; i++) servers.push(await openAndClose())
    // A WeakRef keeps its object until the current job ends, so each collection gets a turn of its
    // own.
    for (let turn = 0; turn < 50 && held(servers) > 0; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      gc()
    }
    expect(held(servers)).toBe(0)
  })
})
