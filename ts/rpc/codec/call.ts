// What a simulated transaction is, and what it may pretend about state and block.
import { limitExceeded } from '../errors.ts'
import { arrayOf, type Codec, fields, mapOf } from './codec.ts'
import { address, data, hash, uint64, uint256 } from './hex.ts'

/**
 * Entries of one list or map inside a request; a body of 5 MiB cannot hold many more useful ones.
 */
const ENTRIES_MAX = 100_000

const accessList = arrayOf(fields({ address, storageKeys: arrayOf(hash, ENTRIES_MAX) }), ENTRIES_MAX)
const authorization = fields({ chainId: uint256, address, nonce: uint64, yParity: uint64, r: uint256, s: uint256 })

/** A transaction to simulate. */
export const transaction: Codec<Record<string, unknown>> = fields({
  from: address,
  to: address,
  gas: uint64,
  gasPrice: uint256,
  maxFeePerGas: uint256,
  maxPriorityFeePerGas: uint256,
  value: uint256,
  nonce: uint64,
  data,
  input: data,
  chainId: uint256,
  accessList,
  maxFeePerBlobGas: uint256,
  blobVersionedHashes: arrayOf(hash, ENTRIES_MAX),
  authorizationList: arrayOf(authorization, ENTRIES_MAX),
})

const slots = mapOf(hash, hash, ENTRIES_MAX)

const account = fields({ balance: uint256, nonce: uint64, code: data, state: slots, stateDiff: slots, movePrecompileToAddress: address })

/** Accounts to pretend, by address; null stands for an account of which nothing is said. */
export const stateOverrides: Codec<Record<string, unknown>> = mapOf(address, (value) => account(value ?? {}), ENTRIES_MAX)

/** What state overrides may hold; 0 is no limit. */
export interface OverrideLimits {
  /** Accounts that are named. */
  readonly accounts: number
  /** Slots that are named, all accounts together. */
  readonly slots: number
}

/** Refuses state overrides over the limits; gives them back as they are. */
export function withinLimits<T extends Record<string, unknown> | undefined>(overrides: T, limits: OverrideLimits): T {
  allWithinLimits([overrides], limits)
  return overrides
}

/** Refuses several state overrides of one request that are over the limits together. */
export function allWithinLimits(all: readonly (Record<string, unknown> | undefined)[], limits: OverrideLimits): void {
  type Account = { readonly state?: object | null; readonly stateDiff?: object | null }
  const accounts = all.flatMap((overrides) => Object.values(overrides ?? {}) as Account[])
  if (limits.accounts !== 0 && accounts.length > limits.accounts) {
    throw limitExceeded(`state overrides name ${accounts.length} accounts, more than the limit of ${limits.accounts}`)
  }
  let slots = 0
  for (const { state, stateDiff } of accounts) slots += Object.keys(state ?? {}).length + Object.keys(stateDiff ?? {}).length
  if (limits.slots !== 0 && slots > limits.slots) {
    throw limitExceeded(`state overrides name ${slots} slots, more than the limit of ${limits.slots}`)
  }
}

/** Fields that a withdrawal may leave out in go-ethereum (core/types/gen_withdrawal_json.go). */
const NO_WITHDRAWAL = { index: '0x0', validatorIndex: '0x0', address: `0x${'0'.repeat(40)}`, amount: '0x0' } as const

const ofWithdrawal = fields({ index: uint64, validatorIndex: uint64, address, amount: uint64 })

/** A withdrawal (EIP-4895). */
export const withdrawal: Codec<Record<string, unknown>> = (value) => ({ ...NO_WITHDRAWAL, ...ofWithdrawal(value) })

/** Fields of the block to pretend. */
export const blockOverrides: Codec<Record<string, unknown>> = fields({
  number: uint256,
  difficulty: uint256,
  time: uint64,
  gasLimit: uint64,
  feeRecipient: address,
  prevRandao: hash,
  baseFeePerGas: uint256,
  blobBaseFee: uint256,
  beaconRoot: hash,
  withdrawals: arrayOf(withdrawal, ENTRIES_MAX),
})
