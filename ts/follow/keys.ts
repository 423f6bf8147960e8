// The accounts and slots that a block touches, as the upstream's prestateTracer names them.
import type { AccountSlots, BlockId } from '../core/follow.ts'
import type { Upstream } from './upstream.ts'
import { addressOf, BadAnswer, hashOf, objectOf, wholeSlot } from './values.ts'

/** Accounts with the slots of each, and the codes that were named with them. */
export interface Keys {
  readonly accounts: readonly AccountSlots[]
  readonly codes: readonly string[]
}

/** Most accounts and slots that one block may name. */
const KEYS_MAX = 200_000

/** Collects the keys of traces. */
class KeySet {
  private readonly slots = new Map<string, Set<string>>()
  readonly codes = new Set<string>()
  private count = 0

  add(address: unknown): Set<string> {
    const name = addressOf(address, 'an account')
    let slots = this.slots.get(name)
    if (slots === undefined) {
      slots = new Set()
      this.slots.set(name, slots)
      this.counted()
    }
    return slots
  }

  /** The accounts of one answer of prestateTracer. */
  addTrace(trace: unknown): void {
    for (const [address, account] of Object.entries(objectOf(trace, 'a trace of prestateTracer'))) {
      const slots = this.add(address)
      const { storage, code } = objectOf(account, 'an account of prestateTracer')
      if (typeof code === 'string' && code.length > 2) this.codes.add(code)
      for (const slot of Object.keys(storage === undefined || storage === null ? {} : objectOf(storage, 'storage'))) {
        slots.add(hashOf(wholeSlot(slot), 'a slot'))
        this.counted()
      }
    }
  }

  private counted(): void {
    this.count++
    if (this.count > KEYS_MAX) throw new BadAnswer(`a block names more than ${KEYS_MAX} accounts and slots`)
  }

  all(): Keys {
    const accounts = Array.from(this.slots, ([address, slots]) => ({ address, slots: [...slots] }))
    return { accounts, codes: [...this.codes] }
  }
}

const CONFIG = { tracer: 'prestateTracer' }

/**
 * The keys of a block. Transactions name theirs; the fee recipient and the accounts of withdrawals
 * are in the block itself. Those of system calls are wanted by the core.
 */
export async function keysOf(upstream: Upstream, block: BlockId): Promise<Keys> {
  const keys = new KeySet()
  const found = objectOf(
    await upstream.had(`block ${block.number}`, () => upstream.once('eth_getBlockByHash', [block.hash, false])),
    'a block',
  )
  keys.add(found.miner)
  for (const withdrawal of Array.isArray(found.withdrawals) ? found.withdrawals : []) {
    keys.add(objectOf(withdrawal, 'a withdrawal').address)
  }
  const hashes = Array.isArray(found.transactions) ? found.transactions : []
  if (hashes.length > 0) for (const trace of await traces(upstream, block, hashes)) keys.addTrace(trace)
  return keys.all()
}

/** The trace of each transaction. */
async function traces(upstream: Upstream, block: BlockId, hashes: readonly unknown[]): Promise<readonly unknown[]> {
  if (upstream.abilities?.keys === 'transaction') {
    const trace = (hash: unknown): Promise<unknown> =>
      upstream.batches.ask('debug_traceTransaction', [hashOf(hash, 'the hash of a transaction'), CONFIG], upstream.timeoutMs)
    return await Promise.all(hashes.map(trace))
  }
  const answer = await upstream.had(`the trace of block ${block.number}`, () =>
    upstream.once<unknown>('debug_traceBlockByHash', [block.hash, CONFIG]),
  )
  if (!Array.isArray(answer)) throw new BadAnswer('the trace of a block is no list')
  return answer.map((entry) => {
    const { result, error } = objectOf(entry, 'the trace of a transaction')
    if (error !== undefined) throw new BadAnswer(`the trace of a transaction failed: ${JSON.stringify(error).slice(0, 200)}`)
    return result
  })
}
