// The clock of a development chain whose head is ahead of it: the next block is as far ahead as
// requested, compared with anvil.
import { afterAll, describe, expect } from 'vitest'
import { Calls } from './dev-calls.ts'
import { type DevNode, startNamed } from './dev-node.ts'
import { nodesBeside, testsOn } from './peer.ts'

/** How much may pass while a test runs, in seconds. */
const SLOW = 20

for (const name of nodesBeside('anvil', 'the clock')) {
  describe(`the clock of ${name}`, () => {
    const { before, test } = testsOn(name)
    let node: DevNode | undefined
    let dev: Calls
    before(async () => {
      node = await startNamed(name)
      dev = new Calls(node.url)
    })
    afterAll(async () => {
      await node?.stop()
    })

    /** Seconds from the head to the block after it. */
    async function step(): Promise<number> {
      const before = await dev.time()
      await dev.call('evm_mine')
      return (await dev.time()) - before
    }

    const expectStep = async (seconds: number): Promise<void> => {
      const there = await step()
      expect(there).toBeGreaterThanOrEqual(seconds)
      expect(there).toBeLessThan(seconds + SLOW)
    }

    test('continues from the head after blocks within a second', async () => {
      await dev.call('anvil_mine', 60)
      await dev.call('evm_increaseTime', 100)
      await expectStep(100)
      await dev.call('anvil_mine', 60)
      const [one, two] = [await dev.call<number>('evm_increaseTime', 30), await dev.call<number>('evm_increaseTime', 70)]
      expect(two - one).toBeGreaterThanOrEqual(68)
      await expectStep(100)
    })

    test('continues from a set time, and from blocks at an interval', async () => {
      const now = await dev.time()
      await dev.call('evm_setNextBlockTimestamp', now + 5000)
      await dev.call('evm_mine')
      await dev.call('evm_increaseTime', 100)
      await expectStep(100)
      await dev.call('anvil_mine', 10, 1000)
      await dev.call('evm_increaseTime', 100)
      await expectStep(98)
      await dev.call('hardhat_mine', '0xa', '0x3e8')
      await dev.call('evm_increaseTime', 100)
      await expectStep(98)
    })

    test('never goes back, whatever is asked for', async () => {
      for (const seconds of [0, 1, 0]) {
        await dev.call('evm_increaseTime', seconds)
        expect(await step()).toBeGreaterThanOrEqual(name === 'anvil' ? 0 : 1)
      }
      const set = (await dev.time()) + 3000
      await dev.call('evm_setNextBlockTimestamp', set)
      await dev.call('evm_increaseTime', 7)
      await dev.call('evm_mine')
      // The time set for the next block replaces the clock, which continues from there. anvil
      // counts in fractions of seconds.
      expect(Math.abs((await dev.time()) - set)).toBeLessThanOrEqual(name === 'anvil' ? SLOW : 0)
      expect(await step()).toBeLessThan(SLOW)
    })
  })
}
