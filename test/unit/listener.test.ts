// Opening and closing a listener.
import http from 'node:http'
import v8 from 'node:v8'
import vm from 'node:vm'
import { describe, expect, it } from 'vitest'
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
