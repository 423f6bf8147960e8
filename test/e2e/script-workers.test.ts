// Worker threads on one home: they share the node, and one that dies does not affect the others.
import fs from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { createDevNode, openNode } from 'hearth'
import { afterAll, expect, it } from 'vitest'
import { ROOT, tempHome } from './harness.ts'
import { PATIENCE_MS } from './waiting.ts'

const home = tempHome()
afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

const FROM = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

const start = (task: string): Worker => new Worker(path.join(ROOT, 'test/e2e/script-worker.mjs'), { workerData: { home, task } })

/** The next message of a worker. */
const message = (worker: Worker): Promise<Record<string, number>> =>
  new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })

it('workers and the main thread share a home; any may die', async () => {
  const node = await openNode({ home, mode: 'dev' })
  for (let i = 0; i < 3; i++) await node.provider.request({ method: 'eth_sendTransaction', params: [{ from: FROM, to: FROM }] })
  const dying = start('die')
  expect(await message(dying)).toEqual({ opened: 3 })
  const failing = start('throw')
  const failed = new Promise<Error>((resolve) => failing.once('error', resolve))
  expect((await failed).message).toBe('a worker that fails')
  await node.provider.request({ method: 'eth_sendTransaction', params: [{ from: FROM, to: FROM }] })
  expect(await dying.terminate()).toBe(1)
  // The node continues, also where the main thread lets go first.
  expect(await node.blocks().toArray()).toHaveLength(5)
  const counting = start('count')
  expect(await message(counting)).toEqual({ opened: 4 })
  await node.close()
  const [counted, ended] = [message(counting), new Promise((resolve) => counting.once('exit', resolve))]
  counting.postMessage('go')
  expect(await counted).toEqual({ blocks: 5 })
  await ended
  // The node has been closed.
  await using alone = await openNode({ home, mode: 'dev', settings: { 'workers.read_threads': '1' } })
  expect(alone.height).toBe(4n)
})

it('a node that is forgotten is let go when its worker ends', async () => {
  const dying = start('die')
  await message(dying)
  await dying.terminate()
  // Under other settings, so that it cannot be shared.
  const open = async (): Promise<bigint> => {
    await using node = await openNode({ home, mode: 'dev', settings: { 'workers.read_threads': '3' } })
    return node.height
  }
  await expect.poll(() => open().catch(() => undefined), { timeout: PATIENCE_MS }).toBe(4n)
})

it('development chains of one process have nothing in common', async () => {
  await using one = await createDevNode()
  await using other = await createDevNode()
  await one.provider.request({ method: 'eth_sendTransaction', params: [{ from: FROM, to: FROM }] })
  expect([one.height, other.height]).toEqual([1n, 0n])
})
