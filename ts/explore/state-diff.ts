// What a transaction changed, out of prestateTracer's diff: accounts with their values before and
// after.

/** An account as prestateTracer has it; of `post` only what changed. */
export interface RawAccount {
  readonly balance?: string
  readonly nonce?: number
  readonly code?: string
  readonly storage?: Readonly<Record<string, string>>
}

/** What prestateTracer gives with `diffMode`. */
export interface RawDiff {
  readonly pre: Readonly<Record<string, RawAccount>>
  readonly post: Readonly<Record<string, RawAccount>>
}

/** A value before and after. */
export interface Change<T> {
  readonly before: T
  readonly after: T
}

/** A slot that changed, with 32-byte words in hex. */
export interface SlotChange extends Change<string> {
  readonly slot: string
}

/** An account that changed; undefined for what did not. */
export interface AccountChange {
  readonly address: string
  readonly fate: 'created' | 'deleted' | 'changed'
  readonly balance: Change<bigint> | undefined
  readonly nonce: Change<number> | undefined
  /** Bytes of code in hex. */
  readonly code: Change<string> | undefined
  /** In order of their slots. */
  readonly storage: readonly SlotChange[]
}

const ZERO_WORD = `0x${'0'.repeat(64)}`

/** The change of a value; undefined where `after` says nothing, or the same. */
const change = <T>(before: T, after: T): Change<T> | undefined => (before === after ? undefined : { before, after })

function storageOf(pre: RawAccount['storage'] = {}, post: RawAccount['storage'] = {}): SlotChange[] {
  const [before, after] = [new Map(Object.entries(pre)), new Map(Object.entries(post))]
  const slots = [...new Set([...before.keys(), ...after.keys()])].sort()
  // A zero is no entry: what `post` does not have became zero.
  return slots.map((slot) => ({ slot, before: before.get(slot) ?? ZERO_WORD, after: after.get(slot) ?? ZERO_WORD }))
}

/** The accounts that a transaction changed, in the order of their addresses. */
export function stateChanges({ pre, post }: RawDiff): AccountChange[] {
  const [before, after] = [new Map(Object.entries(pre)), new Map(Object.entries(post))]
  const addresses = [...new Set([...before.keys(), ...after.keys()])].sort()
  return addresses.map((address) => {
    const [old, now] = [before.get(address), after.get(address)]
    const fate = old === undefined ? 'created' : now === undefined ? 'deleted' : 'changed'
    const isGone = now === undefined
    const balance = change(BigInt(old?.balance ?? 0), isGone ? 0n : BigInt(now.balance ?? old?.balance ?? 0))
    const nonce = change(old?.nonce ?? 0, isGone ? 0 : (now.nonce ?? old?.nonce ?? 0))
    const code = change(old?.code ?? '0x', isGone ? '0x' : (now.code ?? old?.code ?? '0x'))
    return { address, fate, balance, nonce, code, storage: storageOf(old?.storage, now?.storage) }
  })
}
