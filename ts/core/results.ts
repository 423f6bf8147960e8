// Results of the core that this process reads itself.
import { textOf } from './chunks.ts'
import type { Core, Hex, Operations } from './port.ts'

/** A header, or a block, as far as this process reads one. */
export interface ReadBlock {
  readonly number: Hex
  readonly hash: Hex
  readonly parentHash: Hex
  readonly stateRoot: Hex
  readonly timestamp: Hex
  readonly gasLimit: Hex
  readonly [field: string]: unknown
}

/** The JSON values of results by operation, as far as this process reads them. */
export interface Results {
  blockNumber: Hex
  capabilities: { readonly blocks: { readonly oldestBlock: Hex } }
  chainId: Hex
  consensusReap: readonly Hex[]
  /** In milliseconds. */
  engineForkchoiceAge: Hex | null
  getBlockByNumber: ReadBlock | null
  getBlockId: { readonly number: Hex; readonly hash: Hex } | null
  getCode: Hex
  getRawTransaction: Hex | null
  getTransactionCount: Hex
  dumpState: Hex
  keccak: Hex
  senderOf: Hex | null
  sendTransaction: Hex
  txpoolStatus: { readonly pending: Hex; readonly queued: Hex }
}

/** What answers requests. */
type Requests = Pick<Core, 'request'>

/** The bytes of a result. */
export async function readBytes<Op extends keyof Operations>(core: Requests, op: Op, args: Operations[Op]): Promise<Uint8Array> {
  const answer = await core.request(op, args)
  return typeof answer === 'string' ? Buffer.from(answer) : answer
}

/** The text of a result. */
export async function readText<Op extends keyof Operations>(core: Requests, op: Op, args: Operations[Op]): Promise<string> {
  const answer = await core.request(op, args)
  return typeof answer === 'string' ? answer : textOf(answer)
}

/** The JSON value of a result. */
export async function readJson<Op extends keyof Results & keyof Operations>(
  core: Requests,
  op: Op,
  args: Operations[Op],
): Promise<Results[Op]> {
  return JSON.parse(await readText(core, op, args)) as Results[Op]
}

/** As `readJson`, for a result of which the caller names the members that it reads. */
export async function readAs<T, Op extends keyof Operations = keyof Operations>(
  core: Requests,
  op: Op,
  args: Operations[NoInfer<Op>],
): Promise<T> {
  return JSON.parse(await readText(core, op, args)) as T
}
