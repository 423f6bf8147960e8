// The node of the demo that tests of the explorer share: it has its blocks when it is given, and is
// gone when it has stopped.
import { expect, it } from 'vitest'
import { demoNode } from '../browser/demo.mjs'
import { SINGLE } from '../free-port.mjs'
import { rpc } from './harness.ts'

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it('serves the demo, and is gone once it has stopped', async () => {
  const node = await demoNode()
  expect(isAlive(node.pid)).toBe(true)
  expect((await rpc(node.url, 'eth_blockNumber')).result).toBe('0xd')
  const port = Number(new URL(node.url).port)
  expect(port - SINGLE.first).toBeGreaterThanOrEqual(0)
  expect(port - SINGLE.first).toBeLessThan(SINGLE.ports)
  expect(await node.stop()).toBe(0)
  expect(isAlive(node.pid)).toBe(false)
})
