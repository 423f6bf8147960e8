// Requests of eth_simulateV1 with integers at the edges of their types, generated from a number;
// and the answers that differ from go-ethereum's by a deviation in ARCHITECTURE.md.

/** An answer over JSON-RPC. */
export interface Answer {
  result?: unknown
  error?: { code: number; message: string; data?: unknown }
}

const SENDER = '0xc000000000000000000000000000000000000000'
const RECEIVER = '0xc100000000000000000000000000000000000000'
const BLOB_HASH = `0x01${'00'.repeat(31)}`
const U256_MAX = `0x${'f'.repeat(64)}`

const U64 = ['0x0', '0x1', '0x5207', '0x5208', '0x7fffffffffffffff', '0x8000000000000000', '0xfffffffffffffffe', '0xffffffffffffffff']
const BEYOND_U64 = '0x10000000000000000'
const U256 = [
  '0x0',
  '0x1',
  '0x3b9aca00',
  '0xffffffffffffffff',
  BEYOND_U64,
  `0x${'f'.repeat(32)}`,
  `0x1${'0'.repeat(32)}`,
  `0x8${'0'.repeat(63)}`,
  U256_MAX,
]

type Fields = Record<string, unknown>
type Pick = <T>(from: readonly T[]) => T

/** What one edge sets: fields of a call, of a block, of the sender. */
interface Edge {
  call?: Fields
  block?: Fields
  state?: Fields
}

const EDGES: readonly ((pick: Pick) => Edge)[] = [
  (pick) => ({ call: { nonce: pick([...U64, BEYOND_U64]) } }),
  (pick) => ({ call: { gas: pick([...U64, BEYOND_U64, '0x2faf080', '0x2faf081']) } }),
  (pick) => ({ call: { gasPrice: pick(U256) } }),
  (pick) => ({ call: { maxFeePerGas: pick(U256) } }),
  (pick) => ({ call: { maxPriorityFeePerGas: pick(U256) } }),
  (pick) => ({ call: { maxFeePerGas: pick(U256), maxPriorityFeePerGas: pick(U256) } }),
  (pick) => ({ call: { value: pick(U256) } }),
  (pick) => ({ call: { maxFeePerBlobGas: pick(U256), blobVersionedHashes: [BLOB_HASH] } }),
  (pick) => ({ call: { chainId: pick([...U64, BEYOND_U64, '0xc72dd9d5e883e']) } }),
  (pick) => ({ call: { to: undefined, input: pick(['0x', '0x00', '0x600160015500', '0x60006000f3', '0xfe']) } }),
  (pick) => ({ block: { number: pick([...U64, ...U256, '0x37', '0x38', '0x136', '0x137']) } }),
  (pick) => ({ block: { time: pick([...U64, BEYOND_U64, '0x21c', '0x21d']) } }),
  (pick) => ({ block: { gasLimit: pick([...U64, BEYOND_U64, '0x2faf080']) } }),
  (pick) => ({ block: { baseFeePerGas: pick([...U64, BEYOND_U64]) } }),
  (pick) => ({ block: { blobBaseFee: pick([...U64, BEYOND_U64]) } }),
  (pick) => ({ block: { prevRandao: `0x${pick(['00', 'ff', '01']).repeat(32)}` } }),
  (pick) => ({
    block: { withdrawals: [{ index: pick(U64), validatorIndex: pick(U64), address: RECEIVER, amount: pick(U64) }] },
  }),
  (pick) => ({ state: { nonce: pick([...U64, BEYOND_U64]) } }),
  (pick) => ({ state: { balance: pick([...U256, `0x1${'0'.repeat(64)}`]) } }),
]

/**
 * Numbers below a bound, the same for the same seed (Numerical Recipes' linear congruential
 * generator).
 */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** A request of one or two blocks with up to three edges each. */
export function edgeRequest(seed: number): unknown[] {
  const below = generator(seed)
  const pick: Pick = (from) => from[below(from.length)] as (typeof from)[number]
  const flag = (): true | undefined => pick([undefined, true])
  const blockStateCalls = Array.from({ length: 1 + below(2) }, () => {
    const calls: Fields[] = Array.from({ length: 1 + below(2) }, () => ({ from: SENDER, to: RECEIVER }))
    const blockOverrides: Fields = {}
    const state: Fields = { ...pick([{}, { balance: '0xde0b6b3a7640000' }, { balance: U256_MAX }]) }
    for (let count = 1 + below(3); count > 0; count--) {
      const edge = pick(EDGES)(pick)
      Object.assign(pick(calls), edge.call)
      Object.assign(blockOverrides, edge.block)
      Object.assign(state, edge.state)
    }
    return { stateOverrides: Object.keys(state).length > 0 ? { [SENDER]: state } : {}, blockOverrides, calls }
  })
  const options = { blockStateCalls, validation: flag(), traceTransfers: flag(), returnFullTransactions: flag() }
  return [options, pick(['latest', 'latest', 'latest', 'latest', '0x1e', '0x24'])]
}

/**
 * The differences of two answers: the codes of errors, and every field but one that go-ethereum
 * v1.17.0 does not have.
 */
export function differences(geth: Answer, hearth: Answer): string[] {
  if (geth.error || hearth.error) {
    const [want, have] = [geth, hearth].map(({ error }) => error?.code ?? 'blocks')
    return want === have ? [] : [`geth ${want} (${geth.error?.message}), hearth ${have} (${hearth.error?.message})`]
  }
  return fieldsThatDiffer(geth.result, hearth.result, 'result')
}

function fieldsThatDiffer(want: unknown, have: unknown, at: string): string[] {
  if (at.endsWith('.maxUsedGas') || want === have) return []
  if (typeof want !== 'object' || typeof have !== 'object' || want === null || have === null) {
    return [`${at}: geth ${JSON.stringify(want)}, hearth ${JSON.stringify(have)}`]
  }
  const names = new Set([...Object.keys(want), ...Object.keys(have)])
  return [...names].flatMap((name) => fieldsThatDiffer((want as Fields)[name], (have as Fields)[name], `${at}.${name}`))
}

/** Whether a value is an integer that does not fit so many bits. */
const exceeds = (value: unknown, bits: bigint): boolean => typeof value === 'string' && BigInt(value) >= 1n << bits

interface BlockCalls {
  blockOverrides: Fields
  calls: Fields[]
}

/**
 * Whether answers to a request may differ, or be absent, because of a deviation in ARCHITECTURE.md.
 */
export function isDeviation(params: unknown[], geth: Answer, hearth: Answer): boolean {
  const [{ blockStateCalls }, base] = params as [{ blockStateCalls: BlockCalls[] }, string]
  const calls = blockStateCalls.flatMap((block) => block.calls)
  const overrides = blockStateCalls.map((block) => block.blockOverrides)
  // simulate-wide-values
  if (overrides.some((fields) => exceeds(fields.baseFeePerGas, 64n) || exceeds(fields.blobBaseFee, 64n))) return true
  const fees = ['gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'maxFeePerBlobGas']
  if (calls.some((call) => fees.some((field) => exceeds(call[field], 100n)))) return true
  if (hearth.error?.code === -38015 && calls.some((call) => exceeds(call.gas, 63n))) return true
  // simulate-free-blobs
  if (calls.some((call) => call.maxFeePerBlobGas === '0x0')) return true
  // simulate-early-fields
  if (base !== 'latest' && calls.some((call) => call.maxFeePerBlobGas !== undefined)) return true
  if (base === '0x24' || overrides.some((fields) => fields.number !== undefined && base !== 'latest')) return true
  // simulate-time-order
  if (hearth.error?.code === -38021 && overrides.some((fields) => exceeds(fields.time, 63n))) return true
  // simulate-fee-code
  if (geth.error?.code === -32602 && hearth.error?.code === -38012) return true
  // go-ethereum fails at it itself.
  return geth.error?.message === 'method handler crashed'
}
