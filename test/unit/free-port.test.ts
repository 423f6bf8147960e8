// Ports that tests choose for servers.
import net from 'node:net'
import { expect, it, vi } from 'vitest'
import { freePort, SINGLE } from '../free-port.mjs'

const random = vi.hoisted(() => ({ next: [] as number[] }))
vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof import('node:crypto')>()),
  randomInt: (below: number) => random.next.shift() ?? Math.floor(Math.random() * below),
}))

it('are below those of outgoing connections, each given once', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()))
  expect(new Set(ports).size).toBe(50)
  for (const port of ports) expect([port >= SINGLE.first, port < SINGLE.first + SINGLE.ports]).toEqual([true, true])
  expect(SINGLE.first + SINGLE.ports).toBeLessThanOrEqual(32_768)
})

/** Listens on the first free port of the range, from the top. */
async function listening(): Promise<net.Server> {
  for (let port = SINGLE.first + SINGLE.ports - 1; port >= SINGLE.first; port--) {
    const server = net.createServer()
    const isOpen = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (isOpen) return server
  }
  throw new Error('no port of the range is free')
}

it('are neither taken, nor given before, nor refused by fetch', async () => {
  const server = await listening()
  const { port: taken } = server.address() as net.AddressInfo
  const before = await freePort()
  // fetch refuses 10080.
  random.next.push(...[taken, before, 10_080].map((port) => port - SINGLE.first))
  expect([taken, before, 10_080]).not.toContain(await freePort())
  expect(random.next).toEqual([])
  await expect(fetch('http://127.0.0.1:10080')).rejects.toMatchObject({ cause: { message: 'bad port' } })
  await new Promise((resolve) => server.close(resolve))
})
