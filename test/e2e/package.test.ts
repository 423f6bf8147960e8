// The package as a script imports it: the same core, typed, without a server.
import fs from 'node:fs'
import os from 'node:os'
import { CoreError, devAccounts, nodeConfig, openNode, resolveSettings } from 'hearth'
import { afterAll, expect, it } from 'vitest'
import { tempHome } from './harness.ts'

const home = tempHome()
afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

const { settings } = resolveSettings({ flags: new Map([['workers.heavy_threads', '1']]) })
const text = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString())

it('opens a node, asks it, and closes it', async () => {
  const node = await openNode(nodeConfig(home, 'dev', settings))
  expect(text(await node.request('chainId', undefined))).toBe('0x7a69')
  const address = devAccounts()[9]?.address as string
  expect(text(await node.request('getBalance', { address, block: 'latest' }))).toBe('0x21e19e0c9bab2400000')
  const missing = node.stream('traceTransaction', { hash: `0x${'00'.repeat(32)}`, config: { tracer: 'callTracer' } })
  await expect(missing.next()).rejects.toMatchObject({ kind: 'transaction_not_found' })
  expect(await missing.next()).toBeNull()
  missing.cancel()
  const refused = await openNode(nodeConfig(home, 'dev', settings)).catch((e: unknown) => e)
  expect(refused).toBeInstanceOf(CoreError)
  expect((refused as CoreError).kind).toBe('home_in_use')
  expect((refused as CoreError).message).toBe(`${home} is in use by process ${process.pid} on ${os.hostname()}`)
  await node.close()
  await node.close()
  await expect(node.request('chainId', undefined)).rejects.toMatchObject({ kind: 'closed' })
  const again = await openNode(nodeConfig(home, 'start', settings))
  expect(text(await again.request('blockNumber', undefined))).toBe('0x0')
  await again.close()
})

it('a home without a chain, and a configuration that does not read, are errors with a kind', async () => {
  await expect(openNode(nodeConfig(`${home}/none`, 'start', settings))).rejects.toMatchObject({ kind: 'home_empty' })
  const config = nodeConfig(home, 'start', settings)
  await expect(openNode({ ...config, fsync: 'always' })).rejects.toMatchObject({
    kind: 'config',
    message: expect.stringContaining('always'),
  })
})
