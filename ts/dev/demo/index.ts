// The demo: a tour of transactions that are worth tracing, on a chain that has none yet.

import type { Core } from '../../core/port.ts'
import { readAs, readJson } from '../../core/results.ts'
import { hexOf } from '../abi.ts'
import { CALLS, ENDLESS, market, TOKEN } from './contracts.ts'

/** A transaction of the demo. */
export interface DemoStep {
  /** What it shows. */
  readonly what: string
  readonly hash: string
  /** The contract that it made. */
  readonly created: string | undefined
  readonly success: boolean
}

/** Gas of every transaction: failing ones are not estimated. */
const GAS = 1_000_000

/** Gas of the transaction that runs out of it. */
const LITTLE_GAS = 100_000

/**
 * The contract on every development chain that deploys with CREATE2: salt, then code
 * (https://github.com/Arachnid/deterministic-deployment-proxy).
 */
export const CREATE2_DEPLOYER = '0x4e59b44847b379578588920ca78fbf26c0b4956c'

const SALT = '5a'.repeat(32)

interface Receipt {
  readonly status: string
  readonly contractAddress: string | null
}

/**
 * Sends the transactions of the demo, each in a block of its own; `accounts` has two funded ones.
 */
export async function runDemo(core: Core, accounts: readonly string[]): Promise<DemoStep[]> {
  const steps: DemoStep[] = []
  const [maker, other] = accounts as [string, string]
  const send = async (
    what: string,
    transaction: { from: string; to?: string; data?: Uint8Array | string; value?: string; gas?: number },
  ): Promise<DemoStep> => {
    const { data, gas = GAS } = transaction
    const input = data === undefined ? undefined : typeof data === 'string' ? data : hexOf(data)
    const { from, to, value } = transaction
    const sent = JSON.parse(JSON.stringify({ from, to, value, input, gas: `0x${gas.toString(16)}` })) as Record<string, string>
    const hash = await readJson(core, 'sendTransaction', { transaction: sent })
    const receipt = await readAs<Receipt>(core, 'getTransactionReceipt', { hash })
    const step = { what, hash, created: receipt.contractAddress ?? undefined, success: receipt.status === '0x1' }
    steps.push(step)
    return step
  }
  const made = async (what: string, data: Uint8Array): Promise<string> => {
    const { created } = await send(what, { from: maker, data })
    if (created === undefined) throw new Error(`the demo: ${what} made no contract`)
    return created
  }

  await send('a transfer of ether', { from: maker, to: other, value: '0xde0b6b3a7640000' })
  const sun = await made('a token is deployed', TOKEN)
  const moon = await made('and a second one', TOKEN)
  await send('tokens are transferred', { from: maker, to: sun, data: CALLS.transfer(other, 5_000n) })
  await send('a transfer that reverts with a reason', { from: other, to: sun, data: CALLS.transfer(maker, 10_000n) })
  const place = await made('a market of both tokens is deployed', market(sun, moon))
  await send('the market gets tokens', { from: maker, to: moon, data: CALLS.transfer(place, 100_000n) })
  await send('a swap that is not approved: the revert comes from a nested call', { from: other, to: place, data: CALLS.swap(1_000n) })
  await send('the market may take tokens', { from: other, to: sun, data: CALLS.approve(place, 2_000n) })
  await send('a swap: nested calls, events, console.log', { from: other, to: place, data: CALLS.swap(1_000n) })
  await send('a contract made with CREATE2', { from: maker, to: CREATE2_DEPLOYER, data: `0x${SALT}${hexOf(TOKEN).slice(2)}` })
  const endless = await made('a contract that never ends is deployed', ENDLESS)
  await send('a call that runs out of gas', { from: maker, to: endless, gas: LITTLE_GAS })
  return steps
}
