// Blocks as scripts have them, and how they are unpacked.
import type { Packed } from '../packed.ts'
import type { Data, Form } from '../values.ts'

/** Bytes of a nonce and of a bloom. */
const NONCE_BYTES = 8
const BLOOM_BYTES = 256

/** A withdrawal (EIP-4895). */
export interface Withdrawal<F extends Form = 'hex'> {
  readonly index: bigint
  readonly validatorIndex: bigint
  readonly address: Data<F>
  /** Gwei. */
  readonly amount: bigint
}

/** An entry of an access list (EIP-2930). */
export interface AccessListEntry<F extends Form = 'hex'> {
  readonly address: Data<F>
  readonly storageKeys: readonly Data<F>[]
}

/** A signed authorization (EIP-7702). */
export interface Authorization<F extends Form = 'hex'> {
  readonly chainId: bigint
  readonly address: Data<F>
  readonly nonce: bigint
  readonly yParity: number
  readonly r: bigint
  readonly s: bigint
}

/** A transaction of a block. What its type does not have is undefined. */
export interface Transaction<F extends Form = 'hex'> {
  /** 0 legacy, 1 with an access list, 2 with EIP-1559 fees, 3 with blobs, 4 with authorizations. */
  readonly type: number
  readonly hash: Data<F>
  readonly from: Data<F>
  /** Undefined where it creates a contract. */
  readonly to: Data<F> | undefined
  readonly nonce: bigint
  /** Gas limit. */
  readonly gas: bigint
  /** Wei. */
  readonly value: bigint
  readonly input: Data<F>
  /** What one unit of gas cost, in wei. */
  readonly gasPrice: bigint
  readonly maxFeePerGas: bigint | undefined
  readonly maxPriorityFeePerGas: bigint | undefined
  readonly maxFeePerBlobGas: bigint | undefined
  readonly chainId: bigint | undefined
  readonly accessList: readonly AccessListEntry<F>[] | undefined
  readonly blobVersionedHashes: readonly Data<F>[] | undefined
  readonly authorizationList: readonly Authorization<F>[] | undefined
  readonly v: bigint
  readonly yParity: number
  readonly r: bigint
  readonly s: bigint
  /** Its place in the block. */
  readonly transactionIndex: number
}

/** A block. What its fork does not have is undefined. */
export interface Block<F extends Form = 'hex', Full extends boolean = false> {
  readonly number: bigint
  readonly hash: Data<F>
  readonly parentHash: Data<F>
  readonly nonce: Data<F>
  readonly mixHash: Data<F>
  readonly sha3Uncles: Data<F>
  readonly logsBloom: Data<F>
  readonly stateRoot: Data<F>
  readonly miner: Data<F>
  readonly difficulty: bigint
  readonly extraData: Data<F>
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  /** Seconds since 1970. */
  readonly timestamp: bigint
  readonly transactionsRoot: Data<F>
  readonly receiptsRoot: Data<F>
  /** Wei. */
  readonly baseFeePerGas: bigint | undefined
  readonly withdrawalsRoot: Data<F> | undefined
  readonly blobGasUsed: bigint | undefined
  readonly excessBlobGas: bigint | undefined
  readonly parentBeaconBlockRoot: Data<F> | undefined
  readonly requestsHash: Data<F> | undefined
  /** Bytes of its RLP. */
  readonly size: bigint
  readonly uncles: readonly Data<F>[]
  readonly withdrawals: readonly Withdrawal<F>[] | undefined
  /** Hashes, or with `full` whole transactions. */
  readonly transactions: Full extends true ? readonly Transaction<F>[] : readonly Data<F>[]
}

function readWithdrawal<F extends Form>(p: Packed<F>): Withdrawal<F> {
  return { index: p.u64(), validatorIndex: p.u64(), address: p.address(), amount: p.u64() }
}

function readAuthorization<F extends Form>(p: Packed<F>): Authorization<F> {
  return { chainId: p.word(), address: p.address(), nonce: p.u64(), yParity: p.byte(), r: p.word(), s: p.word() }
}

/**
 * The members in the order in which they lie there: object literals are evaluated from the first to
 * the last.
 */
function readTransaction<F extends Form>(p: Packed<F>, transactionIndex: number): Transaction<F> {
  return {
    type: p.byte(),
    hash: p.hash(),
    from: p.address(),
    to: p.optional(() => p.address()),
    nonce: p.u64(),
    gas: p.u64(),
    value: p.word(),
    input: p.sized(),
    gasPrice: p.word(),
    maxFeePerGas: p.optional(() => p.word()),
    maxPriorityFeePerGas: p.optional(() => p.word()),
    maxFeePerBlobGas: p.optional(() => p.word()),
    chainId: p.optional(() => p.u64()),
    accessList: p.optional(() => p.list(() => ({ address: p.address(), storageKeys: p.list(() => p.hash()) }))),
    blobVersionedHashes: p.optional(() => p.list(() => p.hash())),
    authorizationList: p.optional(() => p.list(() => readAuthorization(p))),
    v: p.word(),
    yParity: p.byte(),
    r: p.word(),
    s: p.word(),
    transactionIndex,
  }
}

/** Whole transactions or hashes, as the bytes say. */
function readTransactions<F extends Form>(p: Packed<F>): readonly Transaction<F>[] | readonly Data<F>[] {
  if (!p.flag()) return p.list(() => p.hash())
  let index = 0
  return p.list(() => readTransaction(p, index++))
}

/** The next block. */
export function readBlock<F extends Form, Full extends boolean>(p: Packed<F>): Block<F, Full> {
  return {
    number: p.u64(),
    hash: p.hash(),
    parentHash: p.hash(),
    nonce: p.data(NONCE_BYTES),
    mixHash: p.hash(),
    sha3Uncles: p.hash(),
    logsBloom: p.data(BLOOM_BYTES),
    stateRoot: p.hash(),
    miner: p.address(),
    difficulty: p.word(),
    extraData: p.sized(),
    gasLimit: p.u64(),
    gasUsed: p.u64(),
    timestamp: p.u64(),
    transactionsRoot: p.hash(),
    receiptsRoot: p.hash(),
    baseFeePerGas: p.optional(() => p.u64()),
    withdrawalsRoot: p.optional(() => p.hash()),
    blobGasUsed: p.optional(() => p.u64()),
    excessBlobGas: p.optional(() => p.u64()),
    parentBeaconBlockRoot: p.optional(() => p.hash()),
    requestsHash: p.optional(() => p.hash()),
    size: p.u64(),
    uncles: p.list(() => p.hash()),
    withdrawals: p.optional(() => p.list(() => readWithdrawal(p))),
    transactions: readTransactions(p) as Block<F, Full>['transactions'],
  }
}
