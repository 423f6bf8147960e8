// Many empty blocks of one request are committed together: they must equal blocks that are made one
// by one.
import fs from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { ALICE, type Block, BOB, Calls } from './dev-calls.ts'
import { startDev } from './dev-node.ts'
import { type RunningNode, tempHome } from './harness.ts'

/** More than one commit takes, and fewer than two. */
const BLOCKS = 1_300
/** Seconds from block to block. */
const STEP = 3
const HISTORY = '0x0000F90827F1C53a10cb7A02335B175320002935'

const nodes: RunningNode[] = []
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop()
})

async function start(...args: string[]): Promise<Calls> {
  const node = await startDev(['--timestamp', '1700000000', ...args])
  nodes.push(node)
  return new Calls(node.url)
}

const hex = (n: number): string => `0x${n.toString(16)}`

/** What a block left behind, at a height. */
async function facts(dev: Calls, height: number): Promise<unknown> {
  const block = await dev.block(hex(height))
  const slot = hex((height - 1) % 8191).slice(2)
  return [
    block,
    await dev.call('eth_getBlockByHash', block.hash, true),
    await dev.call('eth_getBlockReceipts', hex(height)),
    await dev.call('eth_getStorageAt', HISTORY, `0x${slot.padStart(64, '0')}`, hex(height)),
    await dev.call('debug_traceBlockByNumber', hex(height), { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }),
    await dev.call('debug_getRawBlock', hex(height)),
  ]
}

it('blocks of a run equal single ones, also after rollbacks', async () => {
  const home = tempHome()
  try {
    const together = await start('--home', home)
    const alone = await start()
    await together.call('anvil_mine', BLOCKS, STEP)
    for (let i = 0; i < BLOCKS; i++) await alone.call('anvil_mine', 1, STEP)
    expect(await together.height()).toBe(BLOCKS)
    for (const height of [1, 2, 500, 1023, 1024, 1025, BLOCKS - 1, BLOCKS])
      expect(await facts(together, height)).toEqual(await facts(alone, height))
    expect((await together.block()).timestamp).toBe(hex(1_700_000_000 + BLOCKS * STEP))
    const heads: Block[] = []
    for (const dev of [together, alone]) {
      // Into the run, a transaction on top, a snapshot, more blocks, and back.
      await dev.call('anvil_rollback', 400)
      await dev.call('anvil_setBalance', BOB, '0x7')
      await dev.call('evm_setNextBlockTimestamp', 1_700_000_000 + BLOCKS * STEP)
      await dev.send(ALICE, BOB, { value: '0x1', gas: '0x5208', maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x0' })
      const snapshot = await dev.call('evm_snapshot')
      await dev.call('anvil_mine', 50, STEP)
      expect(await dev.call('evm_revert', snapshot)).toBe(true)
      await dev.call('anvil_mine', 20, STEP)
      heads.push(await dev.block())
    }
    expect(heads[0]).toEqual(heads[1])
    const head = BLOCKS - 400 + 1 + 20
    expect(Number(heads[0]?.number)).toBe(head)
    expect(await together.balance(BOB)).toBe(8n)
    expect(await nodes.shift()?.stop()).toBe(0)
    const again = await start('--home', home)
    for (const height of [1, 700, BLOCKS - 400, head - 20, head]) expect(await facts(again, height)).toEqual(await facts(alone, height))
    await again.call('anvil_mine', 30, STEP)
    await alone.call('anvil_mine', 30, STEP)
    expect(await again.block()).toEqual(await alone.block())
  } finally {
    for (const node of nodes.splice(0)) await node.stop()
    fs.rmSync(home, { recursive: true, force: true })
  }
}, 240_000)
