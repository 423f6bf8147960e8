// Calls and simulated blocks: nothing that they do is kept.

import type { Core, JsonObject } from '../core/port.ts'
import { readAs } from '../core/results.ts'
import { blockOverrides as blockCodec, stateOverrides as stateCodec, transaction } from '../rpc/codec/call.ts'
import { BadValue, type Codec } from '../rpc/codec/codec.ts'
import { simulation } from '../rpc/codec/simulate.ts'
import { type AbortOptions, abortable, within } from './abort-options.ts'
import { ArgumentError, withTypedErrors } from './errors.ts'
import { Packed } from './packed.ts'
import { blockRef } from './reading/chain.ts'
import type { AnyData, AnyQuantity, BlockPlace, Data, Form, Hex } from './values.ts'
import { wire } from './values.ts'

/** A call. */
export interface CallRequest {
  readonly from?: AnyData | undefined
  /** Absent: it creates a contract. */
  readonly to?: AnyData | undefined
  readonly data?: AnyData | undefined
  /** Wei. */
  readonly value?: AnyQuantity | undefined
  readonly gas?: AnyQuantity | undefined
  readonly gasPrice?: AnyQuantity | undefined
  readonly maxFeePerGas?: AnyQuantity | undefined
  readonly maxPriorityFeePerGas?: AnyQuantity | undefined
  readonly nonce?: AnyQuantity | undefined
  readonly accessList?: readonly { readonly address: AnyData; readonly storageKeys: readonly AnyData[] }[] | undefined
  readonly maxFeePerBlobGas?: AnyQuantity | undefined
  readonly blobVersionedHashes?: readonly AnyData[] | undefined
}

/** An account to pretend. */
export interface AccountOverride {
  readonly balance?: AnyQuantity | undefined
  readonly nonce?: AnyQuantity | undefined
  readonly code?: AnyData | undefined
  /** All of its storage. */
  readonly state?: Readonly<Record<Hex, Hex>> | undefined
  /** Some of its storage. */
  readonly stateDiff?: Readonly<Record<Hex, Hex>> | undefined
  readonly movePrecompileToAddress?: AnyData | undefined
}

/** Fields of the block to pretend. */
export interface BlockOverride {
  readonly number?: AnyQuantity | undefined
  readonly difficulty?: AnyQuantity | undefined
  /** Seconds since 1970. */
  readonly time?: AnyQuantity | undefined
  readonly gasLimit?: AnyQuantity | undefined
  readonly feeRecipient?: AnyData | undefined
  readonly prevRandao?: AnyData | undefined
  readonly baseFeePerGas?: AnyQuantity | undefined
  readonly blobBaseFee?: AnyQuantity | undefined
}

/** What to pretend. */
export interface Overrides {
  /** Accounts by address. */
  readonly stateOverrides?: Readonly<Record<Hex, AccountOverride>> | undefined
  readonly blockOverrides?: BlockOverride | undefined
}

/** How to call. */
export interface CallOptions<F extends Form = 'hex'> extends Overrides, AbortOptions {
  /** On the state after this block. Default: the head. */
  readonly block?: BlockPlace | undefined
  readonly form?: F | undefined
}

/** Calls of one simulated block. */
export interface SimulatedBlock extends Overrides {
  readonly calls: readonly CallRequest[]
}

/** Blocks to simulate one after the other. */
export interface Bundle {
  readonly blocks: readonly SimulatedBlock[]
  /** Whether transfers of value are logged too. */
  readonly traceTransfers?: boolean | undefined
  /** Whether everything is checked that a real block is checked for. */
  readonly validation?: boolean | undefined
}

/** How to simulate. */
export interface SimulateOptions extends AbortOptions {
  /** On top of this block. Default: the head. */
  readonly block?: BlockPlace | undefined
}

/** A log of a simulated call. */
export interface SimulatedLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly logIndex: number
}

/** What a simulated call came to. */
export interface SimulatedCall {
  readonly status: 'success' | 'failure'
  readonly returnData: Hex
  readonly gasUsed: bigint
  readonly logs: readonly SimulatedLog[]
  /** Undefined on success. */
  readonly error: { readonly code: number; readonly message: string; readonly data: Hex | undefined } | undefined
}

/** A simulated block. */
export interface SimulatedResult {
  readonly number: bigint
  readonly hash: Hex
  readonly timestamp: bigint
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  readonly baseFeePerGas: bigint | undefined
  readonly calls: readonly SimulatedCall[]
}

/**
 * A value as JSON-RPC has it, through its codec; what does not fit is an `ArgumentError`. Numbers
 * become quantities.
 */
export function checked<T>(codec: Codec<T>, value: unknown, name: string): T {
  try {
    return codec(name === 'config' || name === 'the tracer' ? value : wire(value))
  } catch (e) {
    throw e instanceof BadValue ? new ArgumentError('invalid_params', e.within(name).message, undefined, e) : e
  }
}

/** Fields of the block to pretend, as the core takes them. */
export const blockOverridesOf = ({ blockOverrides }: Overrides): JsonObject | undefined =>
  blockOverrides === undefined ? undefined : checked(blockCodec, blockOverrides, 'blockOverrides')

/** What a call returns. */
export async function call<F extends Form>(core: Core, request: CallRequest, options: CallOptions<F>): Promise<Data<F>> {
  const { stateOverrides } = options
  const args = {
    transaction: checked(transaction, request, 'the call'),
    block: blockRef(options.block ?? 'latest'),
    stateOverrides: stateOverrides === undefined ? undefined : checked(stateCodec, stateOverrides, 'stateOverrides'),
    blockOverrides: blockOverridesOf(options),
  }
  const { caller, end } = abortable(core)
  const returned = await within(options, () => withTypedErrors(readAs<Hex>(caller, 'call', args)), end)
  if (options.form !== 'bytes') return returned as Data<F>
  const bytes = Buffer.from(returned.slice(2), 'hex')
  return new Packed(bytes, 'bytes').data(bytes.length) as Data<F>
}

interface RawCall {
  readonly status: Hex
  readonly returnData: Hex
  readonly gasUsed: Hex
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex; readonly logIndex: Hex }[]
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Hex }
}

interface RawBlock {
  readonly number: Hex
  readonly hash: Hex
  readonly timestamp: Hex
  readonly gasLimit: Hex
  readonly gasUsed: Hex
  readonly baseFeePerGas?: Hex
  readonly calls: readonly RawCall[]
}

const simulatedCall = ({ status, returnData, gasUsed, logs, error }: RawCall): SimulatedCall => ({
  status: BigInt(status) === 1n ? 'success' : 'failure',
  returnData,
  gasUsed: BigInt(gasUsed),
  logs: logs.map(({ address, topics, data, logIndex }) => ({ address, topics, data, logIndex: Number(logIndex) })),
  error: error === undefined ? undefined : { code: error.code, message: error.message, data: error.data },
})

/** Simulates blocks of calls (eth_simulateV1). */
export async function simulate(core: Core, bundle: Bundle, options: SimulateOptions): Promise<readonly SimulatedResult[]> {
  const wanted = {
    blockStateCalls: bundle.blocks,
    traceTransfers: bundle.traceTransfers,
    validation: bundle.validation,
  }
  const args = { options: checked(simulation, wanted, 'the bundle'), block: blockRef(options.block ?? 'latest') }
  const { caller, end } = abortable(core)
  const blocks = await within(options, () => withTypedErrors(readAs<readonly RawBlock[]>(caller, 'simulateV1', args)), end)
  return blocks.map((block) => ({
    number: BigInt(block.number),
    hash: block.hash,
    timestamp: BigInt(block.timestamp),
    gasLimit: BigInt(block.gasLimit),
    gasUsed: BigInt(block.gasUsed),
    baseFeePerGas: block.baseFeePerGas === undefined ? undefined : BigInt(block.baseFeePerGas),
    calls: block.calls.map(simulatedCall),
  }))
}
