// A littable with its metrics page: whatever fails of the page, the store is closed.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { openLittable } from '../../ts/node/littable.ts'
import { ListenError, type MetricsServer } from '../../ts/server/index.ts'

/** What was closed, and what fails when it is. */
const { closed, failing } = vi.hoisted(() => ({ closed: [] as string[], failing: new Set<string>() }))

const closing = (name: string) => async (): Promise<void> => {
  closed.push(name)
  if (failing.has(name)) throw new Error(`${name} does not close`)
}

vi.mock(import('../../ts/core/littable-native.ts'), () => ({
  openStore: async () => ({ metricsSnapshot: () => '[]', close: closing('store') }) as never,
}))
vi.mock(import('../../ts/metrics/index.ts'), async (original) => ({
  ...(await original()),
  createNativeMetrics: () => ({ scrape: async () => '', shutdown: closing('metrics') }) as never,
}))
vi.mock(import('../../ts/server/index.ts'), async (original) => {
  const { startMetricsServer, ...rest } = await original()
  const start: typeof startMetricsServer = async (...given) => {
    const server = await startMetricsServer(...given)
    const stop: MetricsServer['stop'] = async () => {
      await server.stop()
      await closing('page')()
    }
    return { ...server, stop }
  }
  return { ...rest, startMetricsServer: start }
})

beforeEach(() => {
  closed.length = 0
  failing.clear()
})

const open = (port = 0) => openLittable({ roots: ['/nowhere'], MetricsEnabled: true, MetricsPort: port })

it('page, metrics and store are closed in this order', async () => {
  await (await open()).close()
  expect(closed).toEqual(['page', 'metrics', 'store'])
})

it.each(['page', 'metrics'])('the store is closed where this does not close: %s', async (name) => {
  failing.add(name).add('store')
  await expect((await open()).close()).rejects.toThrow(`${name} does not close`)
  expect(closed).toEqual(['page', 'metrics', 'store'])
})

it('the store is closed where there is no port for the page', async () => {
  const taken = http.createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void taken.close())
  failing.add('store')
  await expect(open((taken.address() as AddressInfo).port)).rejects.toThrow(ListenError)
  expect(closed).toEqual(['metrics', 'store'])
})
