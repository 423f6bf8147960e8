// Requests that development nodes answer differently, on chains that were made alike.
import type { Hex } from 'viem'
import { DEPLOY } from './contract.ts'
import { rpc } from './harness.ts'

/** A chain on a node: one contract whose `set(42)` was the last transaction. */
export interface Place {
  readonly url: string
  readonly owner: Hex
  readonly contract: Hex
  readonly setBy: Hex
}

const word = (n: number): string => n.toString(16).padStart(64, '0')
/** set(uint256) of the contract. */
export const set = (value: number): Hex => `0x60fe47b1${word(value)}`

async function receipt(url: string, hash: unknown): Promise<{ contractAddress: Hex }> {
  for (;;) {
    const { result } = await rpc(url, 'eth_getTransactionReceipt', [hash])
    if (result) return result as { contractAddress: Hex }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Makes the chain. */
export async function makePlace(url: string): Promise<Place> {
  const [owner] = (await rpc(url, 'eth_accounts')).result as [Hex]
  const send = async (tx: object): Promise<unknown> => (await rpc(url, 'eth_sendTransaction', [{ from: owner, ...tx }])).result
  const { contractAddress } = await receipt(url, await send({ data: DEPLOY, gas: '0xf4240' }))
  const setBy = await send({ to: contractAddress, data: set(42), gas: '0xf4240' })
  await receipt(url, setBy)
  return { url, owner, contract: contractAddress, setBy: setBy as Hex }
}

/** A request on a place. */
export type Request = (place: Place) => readonly [method: string, params: readonly unknown[]]

/** JSON with its keys sorted. */
function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
}

/**
 * An error without the numbers, which differ by chain. For an argument Hearth reports the name,
 * geth the type in Go.
 */
function plain({ code, message, data }: { code: number; message: string; data?: unknown }): string {
  const words = message.replace(/^(invalid argument \d+: )\w+: /, '$1').replace(/ for common\.\w+$/, '')
  return `${code} ${words.replaceAll(/0x[0-9a-fA-F]+|\d+/g, '#')}${data === undefined ? '' : ' [data]'}`
}

/** What a node answers, in one line; addresses and hashes of one chain alone are named. */
export async function answerOf(place: Place, request: Request): Promise<string> {
  const [method, params] = request(place)
  const { result, error } = await rpc(place.url, method, [...params])
  return (error === undefined ? canonical(result) : plain(error))
    .replaceAll(new RegExp(place.owner, 'gi'), 'OWNER')
    .replaceAll(new RegExp(place.contract, 'gi'), 'CONTRACT')
    .replaceAll(new RegExp(place.setBy, 'gi'), 'TX')
}

const NOBODY = '0x00000000000000000000000000000000000000a1'

/** Requests by their purpose. */
export const REQUESTS: Readonly<Record<string, Request>> = {
  'a call in a block that does not exist': (p) => ['eth_call', [{ to: p.contract, data: '0x6d4ce63c' }, '0xffff']],
  'a balance in a block that does not exist': (p) => ['eth_getBalance', [p.owner, '0xffff']],
  'a block that does not exist': () => ['eth_getBlockByNumber', ['0xffff', false]],
  'receipts of a block that does not exist': () => ['eth_getBlockReceipts', ['0xffff']],
  'a transaction beyond the end of a block': () => ['eth_getTransactionByBlockNumberAndIndex', ['0x1', '0x63']],
  'a call that reverts with a reason': (p) => ['eth_call', [{ to: p.contract, data: set(0) }, 'latest']],
  'a call that reverts without data': (p) => ['eth_call', [{ to: p.contract, data: '0xffffffff' }, 'latest']],
  'gas of a call that reverts': (p) => ['eth_estimateGas', [{ from: p.owner, to: p.contract, data: set(0) }]],
  'a call of INVALID': () => ['eth_call', [{ data: '0xfe' }, 'latest']],
  'a call of an opcode that does not exist': () => ['eth_call', [{ data: '0x0c' }, 'latest']],
  'a call that underflows the stack': () => ['eth_call', [{ data: '0x01' }, 'latest']],
  'a call that jumps nowhere': () => ['eth_call', [{ data: '0x600056' }, 'latest']],
  'a call with too little gas': (p) => ['eth_call', [{ to: p.contract, data: set(1), gas: '0x5300' }, 'latest']],
  'a call with less gas than any transaction needs': (p) => ['eth_call', [{ to: p.contract, data: set(1), gas: '0x1' }, 'latest']],
  'a call with value that nobody has': (p) => ['eth_call', [{ from: NOBODY, to: p.contract, value: '0x1' }, 'latest']],
  'a call whose fee is below the base fee': (p) => ['eth_call', [{ to: p.contract, data: '0x6d4ce63c', gasPrice: '0x1' }, 'latest']],
  'a call with both kinds of fees': (p) => ['eth_call', [{ to: p.contract, gasPrice: '0x1', maxFeePerGas: '0x1' }, 'latest']],
  'a call without a block': (p) => ['eth_call', [{ to: p.contract, data: '0x6d4ce63c' }]],
  'a hash that is too short': () => ['eth_getTransactionByHash', ['0x12']],
  'an address that is too short': () => ['eth_getBalance', ['0x12', 'latest']],
  'no parameters where some are needed': () => ['eth_getBalance', []],
  'a quantity with leading zeros': () => ['eth_getBlockByNumber', ['0x01', false]],
  'a tag that does not exist': () => ['eth_getBlockByNumber', ['newest', false]],
  'a storage key that is short': (p) => ['eth_getStorageAt', [p.contract, '0x0', 'latest']],
  'a method that does not exist': () => ['eth_nothing', []],
  'logs of blocks the wrong way round': () => ['eth_getLogs', [{ fromBlock: '0x2', toBlock: '0x1' }]],
  'logs of a block hash and of numbers': (p) => ['eth_getLogs', [{ fromBlock: '0x1', blockHash: p.setBy }]],
  'logs of a block that does not exist': () => ['eth_getLogs', [{ fromBlock: '0xfff0', toBlock: '0xffff' }]],
  'bytes that are no transaction': () => ['eth_sendRawTransaction', ['0x1234']],
  'sending from somebody else': (p) => ['eth_sendTransaction', [{ from: NOBODY, to: p.owner, value: '0x1', gas: '0x5208' }]],
  'sending with a nonce that was used': (p) => ['eth_sendTransaction', [{ from: p.owner, to: NOBODY, nonce: '0x0', gas: '0x5208' }]],
  'sending with less gas than needed': (p) => ['eth_sendTransaction', [{ from: p.owner, to: NOBODY, gas: '0x1' }]],
  'sending what fails, without gas': (p) => ['eth_sendTransaction', [{ from: p.owner, to: p.contract, data: set(0) }]],
  'sending data and input that differ': (p) => ['eth_sendTransaction', [{ from: p.owner, to: NOBODY, data: '0x01', input: '0x02' }]],
  'a trace of a transaction that does not exist': () => ['debug_traceTransaction', [`0x${'12'.repeat(32)}`, { tracer: 'callTracer' }]],
  'a trace with a tracer that does not exist': (p) => ['debug_traceTransaction', [p.setBy, { tracer: 'nothingTracer' }]],
  'a trace of a transaction': (p) => ['debug_traceTransaction', [p.setBy, { tracer: 'callTracer' }]],
  'a trace of a call that reverts': (p) => [
    'debug_traceCall',
    [{ to: p.contract, data: set(0), gas: '0xf4240' }, 'latest', { tracer: 'callTracer' }],
  ],
  'four bytes of a transaction': (p) => ['debug_traceTransaction', [p.setBy, { tracer: '4byteTracer' }]],
  'the bytes of a transaction that does not exist': () => ['debug_getRawTransaction', [`0x${'12'.repeat(32)}`]],
  'history of fees of no blocks': () => ['eth_feeHistory', ['0x0', 'latest', []]],
  'history of fees, percentiles that fall': () => ['eth_feeHistory', ['0x1', 'latest', [50, 10]]],
  'whether it synchronises': () => ['eth_syncing', []],
  'a filter that does not exist': () => ['eth_getFilterChanges', ['0x99']],
  'uncles of a block': () => ['eth_getUncleCountByBlockNumber', ['0x1']],
  'a proof in a block that does not exist': (p) => ['eth_getProof', [p.owner, [], '0xffff']],
  'the pool': () => ['txpool_status', []],
  'an access list': (p) => ['eth_createAccessList', [{ from: p.owner, to: p.contract, data: '0x6d4ce63c' }, 'latest']],
  'simulation of blocks whose numbers fall': () => [
    'eth_simulateV1',
    [{ blockStateCalls: [{ blockOverrides: { number: '0x1' } }] }, 'latest'],
  ],
  'an override of an account’s code': (p) => [
    'eth_call',
    [{ to: p.contract }, 'latest', { [p.contract]: { code: '0x60016000526001601ff3' } }],
  ],
  'an override of both state and stateDiff': (p) => [
    'eth_call',
    [{ to: p.contract }, 'latest', { [p.contract]: { state: {}, stateDiff: {} } }],
  ],
}
