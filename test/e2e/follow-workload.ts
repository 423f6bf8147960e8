// A chain with everything that followed nodes treat differently: transactions of each type, storage
// that is set and cleared, creations and their ends, reverts of each kind, every kind of call, and
// reads of what no transaction names.
import { commitmentsToVersionedHashes, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { assemble, deploying } from './contract.ts'
import { ALICE, BOB, type Calls } from './dev-calls.ts'

/**
 * Stores calldata word 1 in slot word 0 and logs both; then word 2 says how it ends: 1 reverts, 2
 * is an invalid opcode, 3 selfdestructs, 4 runs out of gas.
 */
const STORE = assemble([
  '60203560003555', // SSTORE(word 0, word 1)
  '602035600052', // MSTORE(0, word 1)
  '60003560206000a1', // LOG1 over it, with the slot as topic
  '604035', // CALLDATALOAD(64)
  ...['revert', 'invalid', 'die', 'spin'].flatMap((end, i) => [`80600${i + 1}1461`, `@${end}`, '57']),
  '00',
  'revert:',
  '60006000fd',
  'invalid:',
  'fe',
  'die:',
  '33ff', // SELFDESTRUCT(CALLER)
  'spin:',
  '61',
  '@spin',
  '56',
])

/** Creates a contract from its calldata, with the value, calls it, keeps outcome and address. */
const FACTORY = assemble([
  '366000600037', // CALLDATACOPY(0, 0, size)
  '36600034f0', // CREATE(value, 0, size)
  '80600155', // SSTORE(1, address)
  '6000600060006000600085', // CALL(gas, address, 0, 0, 0, 0, 0)
  '5af1600055', // SSTORE(0, outcome)
  '00',
])

/** Calls the store at word 0 in every way, and reads what no transaction names. */
const CALLER = assemble([
  '6007600052', // MSTORE(0, 7): the slot
  '6009602052', // MSTORE(32, 9): the value
  '60006000606060006000355af450', // DELEGATECALL: the slot is this contract's
  '600060006060600060003561fffffa50', // STATICCALL: fails, since it writes
  '6000600060606000600060003561fffff250', // CALLCODE
  '60206000606060006002611000fa50', // STATICCALL of SHA-256
  '600243034050', // BLOCKHASH(NUMBER - 2)
  '61dead3150', // BALANCE(0xdead)
  '61beef3f50', // EXTCODEHASH(0xbeef)
  '6000353b50', // EXTCODESIZE(store)
  '413150', // BALANCE(COINBASE)
  '60016002 5d 6002 5c 50'.replaceAll(' ', ''), // TSTORE, TLOAD
  '6020600060405e', // MCOPY
  '475048504450', // SELFBALANCE, BASEFEE, PREVRANDAO
  '60006000a0', // LOG0
  '600160026003600460206000a4', // LOG4
  '00',
])

/** Code that creates a contract which selfdestructs when it is called. */
const MORTAL = '6133ff6000526002601ef3'

/** Code that selfdestructs while it creates. */
const STILLBORN = '33ff'

/** Gas of each transaction: more than any of them needs, except for those that run out of it. */
const GAS = '0x7a120'

const ACCOUNT = privateKeyToAccount('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')
const INFINITY: Hex = `0xc0${'00'.repeat(47)}`
const ZERO_BLOB: Hex = `0x${'00'.repeat(131_072)}`

const word = (value: number | string): string => (typeof value === 'number' ? value.toString(16) : value.slice(2)).padStart(64, '0')
const words = (...values: (number | string)[]): Hex => `0x${values.map(word).join('')}`

/** A transaction with a blob of zeros: its commitment and its proof are the point at infinity. */
export async function blobTransaction(node: Calls): Promise<Hex> {
  const [nonce, chainId] = [
    Number(await node.call<string>('eth_getTransactionCount', ACCOUNT.address, 'pending')),
    Number(await node.call<string>('eth_chainId')),
  ]
  return await ACCOUNT.signTransaction({
    type: 'eip4844',
    chainId,
    nonce,
    to: ALICE,
    gas: 50_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
    maxFeePerBlobGas: 10n ** 10n,
    blobVersionedHashes: commitmentsToVersionedHashes({ commitments: [INFINITY] }),
    sidecars: [{ blob: ZERO_BLOB, commitment: INFINITY, proof: INFINITY }],
  })
}

/** Contracts of a chain. */
export interface Workplace {
  readonly store: Hex
  readonly factory: Hex
  readonly caller: Hex
}

/** Deploys the contracts. */
export async function makeWorkplace(node: Calls): Promise<Workplace> {
  const deploy = async (code: string): Promise<Hex> => {
    const hash = await node.send(ALICE, undefined, { data: deploying(code), gas: '0xf4240' })
    await node.call('anvil_mine', '0x1')
    return (await node.call<{ contractAddress: Hex }>('eth_getTransactionReceipt', hash)).contractAddress
  }
  return { store: await deploy(STORE), factory: await deploy(FACTORY), caller: await deploy(CALLER) }
}

/** What one block has, by its place in the run. */
function transactionsOf({ store, factory, caller }: Workplace, round: number, empties: boolean): readonly object[] {
  const fresh = `0x${(0xabc000 + round).toString(16).padStart(40, '0')}`
  const put = (slot: number, value: number, end = 0): Hex => words(slot, value, end)
  const emptying = [
    { to: store, data: put(Math.max(0, round - 2), 0) },
    { to: factory, data: `0x${MORTAL}`, value: '0x3' },
    { to: factory, data: `0x${STILLBORN}`, value: '0x4' },
    { to: caller, data: words(store) },
    { data: '0x60006000fd' },
    { to: '0x0000000000000000000000000000000000000004', data: '0x1234' },
  ]
  return [
    { to: fresh, value: '0x1' },
    { to: BOB, value: '0x2', gasPrice: '0x2540be400' },
    { to: store, data: put(round, round + 1) },
    { to: store, data: put(1000 + round, 5), accessList: [{ address: store, storageKeys: [words(1000 + round), words(7)] }] },
    { to: store, data: put(round, 99, 1) },
    { to: store, data: put(round, 98, 2), gas: '0x13880' },
    { to: store, data: put(round, 97, 4), gas: '0x13880' },
    { data: deploying(STORE) },
    { data: '0x00' },
    ...(empties ? emptying : []),
    ...(round % 4 === 3 ? [{ to: store, data: put(1, 1, 3), value: '0x5' }] : []),
  ]
}

/** How much work is done. */
export interface Work {
  /** Blocks with one transaction of every kind; more without any are between them. */
  readonly rounds: number
  /** The number of the first one: it says which slots are set. */
  readonly first?: number
  /** Whether every third block has a blob. */
  readonly blobs?: boolean
  /** Whether accounts and slots are touched that are empty, or become it. */
  readonly empties?: boolean
}

/** Mines blocks with one transaction of every kind each. */
export async function work(node: Calls, place: Workplace, { rounds, first = 0, blobs = true, empties = true }: Work): Promise<void> {
  await node.call('evm_setAutomine', false)
  for (let round = first; round < first + rounds; round++) {
    let nonce = Number(await node.call<string>('eth_getTransactionCount', ALICE, 'pending'))
    for (const transaction of transactionsOf(place, round, empties)) {
      await node.call('eth_sendTransaction', { from: ALICE, gas: GAS, nonce: `0x${(nonce++).toString(16)}`, ...transaction })
    }
    if (blobs && round % 3 === 0) await node.call('eth_sendRawTransaction', await blobTransaction(node))
    await node.call('anvil_mine', '0x1')
    if (round % 5 === 4) await node.call('anvil_mine', '0x2')
  }
  await node.call('evm_setAutomine', true)
}
