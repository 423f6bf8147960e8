// The clock of a development chain where its head is ahead of it: the next block lies as far on as was asked for, beside anvil.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Calls } from './dev-calls.ts'
import { type DevNode, missing, startAnvil, startDev } from './dev-node.ts'

/** How much may pass while a test runs, in seconds. */
const SLOW = 20

for (const name of ['hearth', 'anvil'] as const) {
  const why = missing(name)
  if (why !== undefined) console.log(`skipped: the clock of ${name}: ${why}`)
  describe.skipIf(why !== undefined)(`the clock of ${name}`, () => {
    let node: DevNode
    let dev: Calls
    beforeAll(async () => {
      node = name === 'anvil' ? await startAnvil() : await startDev()
      dev = new Calls(node.url)
    }, 120_000)
    afterAll(async () => {
      await node.stop()
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

    it('goes on from the head after blocks that came faster than seconds', async () => {
      await dev.call('anvil_mine', 60)
      await dev.call('evm_increaseTime', 100)
      await expectStep(100)
      await dev.call('anvil_mine', 60)
      const [one, two] = [await dev.call<number>('evm_increaseTime', 30), await dev.call<number>('evm_increaseTime', 70)]
      expect(two - one).toBeGreaterThanOrEqual(68)
      await expectStep(100)
    })

    it('goes on from a head whose time was set, and from blocks with an interval', async () => {
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

    it('never goes back, whatever is asked for', async () => {
      for (const seconds of [0, 1, 0]) {
        await dev.call('evm_increaseTime', seconds)
        expect(await step()).toBeGreaterThanOrEqual(name === 'anvil' ? 0 : 1)
      }
      const set = (await dev.time()) + 3000
      await dev.call('evm_setNextBlockTimestamp', set)
      await dev.call('evm_increaseTime', 7)
      await dev.call('evm_mine')
      // What is set for the next block counts more than the clock, which goes on from there. anvil counts in parts of seconds.
      expect(Math.abs((await dev.time()) - set)).toBeLessThanOrEqual(name === 'anvil' ? SLOW : 0)
      expect(await step()).toBeLessThan(SLOW)
    })
  })
}
