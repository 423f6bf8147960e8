// eth_sendRawTransactionSync: the receipt once the block exists, or an error with the hash if it
// does not come.
import { expect, it } from 'vitest'
import type { Core } from '../../ts/core/port.ts'
import { readBytes } from '../../ts/core/results.ts'
import { syncTimeout } from '../../ts/rpc/errors.ts'
import { SubscriptionHub } from '../../ts/rpc/follow/index.ts'
import { sendAndWait } from '../../ts/rpc/receipt-wait.ts'
import { ModelChain, seeded } from './follow-model.ts'

const HASH = `0x${'ab'.repeat(32)}`

/** A core whose transaction is mined once `mined` says so. */
function core(model: ModelChain, mined: () => boolean): Core {
  const request = async (op: string): Promise<Uint8Array> => {
    if (op === 'sendRawTransaction') return Buffer.from(`"${HASH}"`)
    expect(op).toBe('getTransactionReceipt')
    return Buffer.from(mined() ? '{"status":"0x1"}' : 'null')
  }
  return { ...model.core(), request } as unknown as Core
}

/** Sends the transaction. */
const sent = (core: Core) => (): Promise<Uint8Array> => readBytes(core, 'sendRawTransaction', { transaction: '0x01' })

const follow = (core: Core): SubscriptionHub => new SubscriptionHub(core, { filterIdleMs: 1e9, heads: 1, logs: 1 }, () => undefined)

it('returns the receipt at once, or with its block', async () => {
  const model = new ModelChain(seeded(1))
  const here = core(model, () => true)
  expect(Buffer.from(await sendAndWait(here, follow(here), sent(here), undefined)).toString()).toBe('{"status":"0x1"}')
  let mined = false
  const later = core(model, () => mined)
  const waiting = sendAndWait(later, follow(later), sent(later), '0xea60')
  await new Promise((resolve) => setTimeout(resolve, 20))
  // A block without it, then the block with it.
  model.add()
  await new Promise((resolve) => setTimeout(resolve, 20))
  mined = true
  model.add()
  // A wait until the end of the minute ends with a refusal.
  expect(Buffer.from(await waiting).toString()).toBe('{"status":"0x1"}')
})

it('reports a pending transaction by hash after the timeout', async () => {
  const model = new ModelChain(seeded(1))
  const never = core(model, () => false)
  const refused = await sendAndWait(never, follow(never), sent(never), '0x32').catch((e: unknown) => e)
  expect(refused).toMatchObject({
    code: 4,
    data: HASH,
    message: "The transaction was added to the transaction pool but wasn't processed in 50ms",
  })
})

it('names the time of the wait as Go prints it', () => {
  const text = (ms: number): string | undefined => syncTimeout(ms, HASH).message.split(' ').at(-1)
  expect([1, 999, 1500, 20_000, 60_000].map(text)).toEqual(['1ms', '999ms', '1.5s', '20s', '1m0s'])
})

it('passes on why a transaction is not taken', async () => {
  const model = new ModelChain(seeded(1))
  const request = async (): Promise<never> => {
    throw new Error('nonce too low')
  }
  const core = { ...model.core(), request } as unknown as Core
  await expect(sendAndWait(core, follow(core), sent(core), undefined)).rejects.toThrow('nonce too low')
})
