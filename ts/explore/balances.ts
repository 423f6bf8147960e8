// Which accounts have more and which have less after a transaction: ether out of the state's
// changes, tokens out of their events.
import type { AccountChange } from './state-diff.ts'
import { type Frame, isFrame } from './tree.ts'

/** `Transfer(address,address,uint256)` of ERC-20 and ERC-721. */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** `TransferSingle(address,address,address,uint256,uint256)` of ERC-1155. */
const TRANSFER_SINGLE = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
/** `TransferBatch(address,address,address,uint256[],uint256[])` of ERC-1155. */
const TRANSFER_BATCH = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
/**
 * Of wrapped ether, which has no Transfer for them: `Deposit(address,uint256)` and
 * `Withdrawal(address,uint256)`.
 */
const DEPOSIT = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c'
const WITHDRAWAL = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65'

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

/** Characters of a word in hex without its prefix. */
const WORD = 64

/** What an account has more of (positive) or less of. */
export interface BalanceChange {
  readonly address: string
  /** The contract of a token; undefined is ether. */
  readonly token: string | undefined
  /** The token's id, of ERC-721 and ERC-1155. */
  readonly id: bigint | undefined
  /** In the smallest unit: wei, of a token without its decimals. */
  readonly delta: bigint
}

interface Transfer {
  readonly token: string
  readonly from: string
  readonly to: string
  readonly amount: bigint
  readonly id: bigint | undefined
}

/** The address in a topic; undefined where its first bytes are not zero. */
const addressOf = (topic: string | undefined): string | undefined =>
  topic !== undefined && topic.length === WORD + 2 && /^0x0{24}/.test(topic) ? `0x${topic.slice(26)}` : undefined

const words = (data: string): bigint[] =>
  (data.length - 2) % WORD === 0 ? (data.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`)) : []

/** Bytes of a word. */
const WORD_BYTES = 32n

/** An array of words whose place is in word `at` of the data; undefined where it is not whole. */
function arrayAt(values: readonly bigint[], at: number): readonly bigint[] | undefined {
  const place = values[at]
  if (place === undefined || place % WORD_BYTES !== 0n || place / WORD_BYTES >= BigInt(values.length)) return undefined
  const lengthAt = Number(place / WORD_BYTES)
  const length = values[lengthAt] as bigint
  const first = lengthAt + 1
  return length <= BigInt(values.length - first) ? values.slice(first, first + Number(length)) : undefined
}

/** The transfers of a TransferBatch; none where its data does not read. */
function batchOf(token: string, topics: readonly string[], values: readonly bigint[]): Transfer[] {
  const [from, to] = [addressOf(topics[2]), addressOf(topics[3])]
  const [ids, amounts] = [arrayAt(values, 0), arrayAt(values, 1)]
  if (from === undefined || to === undefined || ids === undefined || ids.length !== amounts?.length) return []
  return ids.map((id, i) => ({ token, from, to, amount: amounts[i] as bigint, id }))
}

/**
 * The transfers that an event reports. What it says is the contract's word, no proof.
 */
function transfersOf(token: string, topics: readonly string[], data: string): readonly Transfer[] {
  const values = words(data)
  if (topics[0] === TRANSFER_BATCH && topics.length === 4) return batchOf(token, topics, values)
  const one = transferOf(token, topics, values)
  return one === undefined ? [] : [one]
}

/** The transfer of an event of one; undefined if it reports none. */
function transferOf(token: string, topics: readonly string[], values: readonly bigint[]): Transfer | undefined {
  if (topics[0] === TRANSFER) {
    const [from, to] = [addressOf(topics[1]), addressOf(topics[2])]
    if (from === undefined || to === undefined) return undefined
    if (topics.length === 4) return { token, from, to, amount: 1n, id: BigInt(topics[3] as string) }
    return topics.length === 3 && values.length === 1 ? { token, from, to, amount: values[0] as bigint, id: undefined } : undefined
  }
  if (topics[0] === TRANSFER_SINGLE && topics.length === 4 && values.length === 2) {
    const [from, to] = [addressOf(topics[2]), addressOf(topics[3])]
    return from === undefined || to === undefined ? undefined : { token, from, to, amount: values[1] as bigint, id: values[0] }
  }
  const holder = addressOf(topics[1])
  if (holder === undefined || topics.length !== 2 || values.length !== 1) return undefined
  const amount = values[0] as bigint
  if (topics[0] === DEPOSIT) return { token, from: ZERO_ADDRESS, to: holder, amount, id: undefined }
  return topics[0] === WITHDRAWAL ? { token, from: holder, to: ZERO_ADDRESS, amount, id: undefined } : undefined
}

/** The transfers of a trace, those of frames that failed left out. */
function* transfers(top: Frame): Generator<Transfer, void> {
  const waiting = [top]
  for (let frame = waiting.pop(); frame !== undefined; frame = waiting.pop()) {
    if (frame.error !== undefined) continue
    for (const item of frame.items) {
      if (isFrame(item)) {
        waiting.push(item)
        continue
      }
      yield* transfersOf(item.address.toLowerCase(), item.topics, item.data)
    }
  }
}

/**
 * What a transaction did to balances: ether first, then tokens, each account once for each of
 * them; the zero address left out.
 */
export function balanceChanges(top: Frame, changes: readonly AccountChange[]): BalanceChange[] {
  const ether = changes.flatMap(({ address, balance }): BalanceChange[] =>
    balance === undefined ? [] : [{ address, token: undefined, id: undefined, delta: balance.after - balance.before }],
  )
  const sums = new Map<string, BalanceChange>()
  for (const { token, from, to, amount, id } of transfers(top)) {
    for (const [address, delta] of [
      [from, -amount],
      [to, amount],
    ] as const) {
      if (address === ZERO_ADDRESS) continue
      const key = `${token} ${id ?? ''} ${address}`
      sums.set(key, { address, token, id, delta: (sums.get(key)?.delta ?? 0n) + delta })
    }
  }
  return [...ether, ...[...sums.values()].filter(({ delta }) => delta !== 0n)]
}
