// Fetches what an execution wants beyond its witness: proofs, codes and headers, by hash.
import type { AccountSlots, BlockId, Wanted } from '../core/follow.ts'
import { UpstreamError } from '../upstream/error.ts'
import type { Extra, PrestateAccount } from './extra.ts'
import { Lacking, type Upstream } from './upstream.ts'
import { quantity } from './values.ts'

/** Slots in one eth_getProof: go-ethereum takes 1,024. */
const SLOTS_PER_PROOF = 256

/**
 * Accounts that are read at the same time: a queue of requests to the upstream is bounded, and
 * several blocks share it.
 */
const ACCOUNTS_AT_ONCE = 256

/** Works on items in groups, one group after the other. */
async function inGroups<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += ACCOUNTS_AT_ONCE) {
    results.push(...(await Promise.all(items.slice(at, at + ACCOUNTS_AT_ONCE).map(work))))
  }
  return results
}

/** Reads of state at one block of an upstream. */
class StateAt {
  private readonly upstream: Upstream
  private readonly block: BlockId
  private isByNumber = false

  constructor(upstream: Upstream, block: BlockId) {
    this.upstream = upstream
    this.block = block
  }

  /** A read; `params` without the block, which is the last one. */
  async read(method: string, ...params: readonly unknown[]): Promise<unknown> {
    const { upstream, block } = this
    this.isByNumber ||= upstream.abilities?.byHash === false
    const at = this.isByNumber ? quantity(block.number) : { blockHash: block.hash }
    try {
      return await upstream.batches.ask(method, [...params, at], upstream.timeoutMs)
    } catch (e) {
      throw e instanceof UpstreamError ? new Lacking(`${method} at block ${block.number}: ${e.said}`) : e
    }
  }

  /** Where reads named the block by its number: whether that is still the same block. */
  async done(): Promise<void> {
    if (this.isByNumber) await this.upstream.stillHas(this.block)
  }
}

/** An account with parts of its slots, so that no request names too many. */
function parts({ address, slots }: AccountSlots): AccountSlots[] {
  const found: AccountSlots[] = []
  for (let at = 0; at === 0 || at < slots.length; at += SLOTS_PER_PROOF)
    found.push({ address, slots: slots.slice(at, at + SLOTS_PER_PROOF) })
  return found
}

const proofs = (state: StateAt, accounts: readonly AccountSlots[]): Promise<unknown[]> =>
  inGroups(accounts.flatMap(parts), ({ address, slots }) => state.read('eth_getProof', address, slots))

/** Adds proofs of accounts and slots at a block. */
export async function addProofs(upstream: Upstream, parent: BlockId, extra: Extra, wanted: readonly AccountSlots[]): Promise<boolean> {
  const accounts = extra.unasked('proof', wanted)
  if (accounts.length === 0) return false
  const state = new StateAt(upstream, parent)
  extra.proofs.push(...(await proofs(state, accounts)))
  await state.done()
  return true
}

async function addAfter(upstream: Upstream, block: BlockId, extra: Extra, wanted: readonly AccountSlots[]): Promise<boolean> {
  const accounts = extra.unasked('after', wanted)
  if (accounts.length === 0) return false
  const state = new StateAt(upstream, block)
  extra.after.push(...(await proofs(state, accounts)))
  await state.done()
  return true
}

/** Adds values of accounts and slots without proofs. */
export async function addValues(upstream: Upstream, parent: BlockId, extra: Extra, wanted: readonly AccountSlots[]): Promise<boolean> {
  const accounts = extra.unasked('value', wanted)
  if (accounts.length === 0) return false
  const state = new StateAt(upstream, parent)
  await inGroups(accounts, async ({ address, slots }) => {
    const known = extra.prestate.get(address) ?? (await valuesOf(state, address))
    extra.prestate.set(address, known)
    const values = await inGroups(slots, (slot) => state.read('eth_getStorageAt', address, slot))
    for (const [i, slot] of slots.entries()) known.storage[slot] = String(values[i])
  })
  await state.done()
  return true
}

async function valuesOf(state: StateAt, address: string): Promise<PrestateAccount> {
  const [balance, nonce, code] = await Promise.all([
    state.read('eth_getBalance', address),
    state.read('eth_getTransactionCount', address),
    state.read('eth_getCode', address),
  ])
  return { balance: String(balance), nonce: String(nonce), code: String(code), storage: {} }
}

async function addCodes(upstream: Upstream, parent: BlockId, extra: Extra, wanted: Wanted['codes']): Promise<boolean> {
  const unasked = wanted.filter(({ hash }) => extra.isNew(`code ${hash}`))
  if (unasked.length === 0) return false
  const state = new StateAt(upstream, parent)
  const codes = await inGroups(unasked, ({ address }) => state.read('eth_getCode', address))
  await state.done()
  for (const code of codes) if (typeof code === 'string') extra.codes.add(code)
  return true
}

async function addHeaders(upstream: Upstream, extra: Extra, wanted: Wanted['headers']): Promise<boolean> {
  const unasked = wanted.filter(({ number, hash }) => extra.isNew(`header ${hash ?? number}`))
  extra.headers.push(...(await inGroups(unasked, ({ number, hash }) => upstream.headerBytes(hash ?? number))))
  return unasked.length > 0
}

/**
 * Fetches what is wanted for a block. Resolves to whether anything of it is new: what was fetched
 * before and is wanted again, the upstream does not have.
 */
export async function fill(
  upstream: Upstream,
  block: BlockId,
  extra: Extra,
  { parent, accounts, codes, headers, after }: Wanted,
  proven: boolean,
): Promise<boolean> {
  const below = { number: block.number - 1, hash: parent }
  const added = await Promise.all([
    proven ? addProofs(upstream, below, extra, accounts) : addValues(upstream, below, extra, accounts),
    addCodes(upstream, below, extra, codes),
    addHeaders(upstream, extra, headers),
    proven && addAfter(upstream, block, extra, after),
  ])
  return added.includes(true)
}
