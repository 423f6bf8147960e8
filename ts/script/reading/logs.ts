// Logs and receipts as scripts have them, and how they are unpacked.
import type { Packed } from '../packed.ts'
import type { Data, Form } from '../values.ts'

const BLOOM_BYTES = 256

/** Stands in the place of a status where a receipt has a state root. */
const POST_STATE = 2

/** A log. */
export interface Log<F extends Form = 'hex'> {
  readonly address: Data<F>
  readonly topics: readonly Data<F>[]
  readonly data: Data<F>
  readonly blockNumber: bigint
  readonly blockHash: Data<F>
  /** Seconds since 1970. */
  readonly blockTimestamp: bigint
  readonly transactionHash: Data<F>
  readonly transactionIndex: number
  /** Index of the log within the block. */
  readonly logIndex: number
}

/** A receipt. */
export interface Receipt<F extends Form = 'hex'> {
  readonly transactionHash: Data<F>
  readonly transactionIndex: number
  readonly blockNumber: bigint
  readonly blockHash: Data<F>
  readonly type: number
  readonly from: Data<F>
  readonly to: Data<F> | undefined
  readonly contractAddress: Data<F> | undefined
  /** Undefined before Byzantium, where `root` is. */
  readonly status: 'success' | 'reverted' | undefined
  readonly root: Data<F> | undefined
  readonly cumulativeGasUsed: bigint
  readonly gasUsed: bigint
  /** Wei. */
  readonly effectiveGasPrice: bigint
  readonly blobGasUsed: bigint | undefined
  readonly blobGasPrice: bigint | undefined
  readonly logsBloom: Data<F>
  readonly logs: readonly Log<F>[]
}

/** Where logs stand. */
interface Site<F extends Form> {
  readonly number: bigint
  readonly hash: Data<F>
  readonly timestamp: bigint
}

const readSite = <F extends Form>(p: Packed<F>): Site<F> => ({ number: p.u64(), hash: p.hash(), timestamp: p.u64() })

function readTopics<F extends Form>(p: Packed<F>): Data<F>[] {
  const count = p.byte()
  const topics: Data<F>[] = []
  for (let i = 0; i < count; i++) topics.push(p.hash())
  return topics
}

function readLog<F extends Form>(
  p: Packed<F>,
  { number, hash, timestamp }: Site<F>,
  transactionHash: Data<F>,
  transactionIndex: number,
  logIndex: number,
): Log<F> {
  return {
    address: p.address(),
    topics: readTopics(p),
    data: p.sized(),
    blockNumber: number,
    blockHash: hash,
    blockTimestamp: timestamp,
    transactionHash,
    transactionIndex,
    logIndex,
  }
}

/** The logs of the next block that has some, added to `into`. */
export function readBlockLogs<F extends Form>(p: Packed<F>, into: Log<F>[]): void {
  const site = readSite(p)
  const count = p.u32()
  for (let i = 0; i < count; i++) {
    const logIndex = p.u32()
    const transactionIndex = p.u32()
    const transactionHash = p.hash()
    into.push(readLog(p, site, transactionHash, transactionIndex, logIndex))
  }
}

/** The receipts of the next block, added to `into`. */
export function readBlockReceipts<F extends Form>(p: Packed<F>, into: Receipt<F>[]): void {
  const site = readSite(p)
  const count = p.u32()
  let logIndex = 0
  for (let transactionIndex = 0; transactionIndex < count; transactionIndex++) {
    const transactionHash = p.hash()
    const [type, from] = [p.byte(), p.address()]
    const [to, contractAddress] = [p.optional(() => p.address()), p.optional(() => p.address())]
    const outcome = p.byte()
    into.push({
      transactionHash,
      transactionIndex,
      blockNumber: site.number,
      blockHash: site.hash,
      type,
      from,
      to,
      contractAddress,
      status: outcome === POST_STATE ? undefined : outcome === 1 ? 'success' : 'reverted',
      root: outcome === POST_STATE ? p.hash() : undefined,
      cumulativeGasUsed: p.u64(),
      gasUsed: p.u64(),
      effectiveGasPrice: p.word(),
      ...readBlobGas(p),
      logsBloom: p.data(BLOOM_BYTES),
      logs: p.list(() => readLog(p, site, transactionHash, transactionIndex, logIndex++)),
    })
  }
}

function readBlobGas<F extends Form>(p: Packed<F>): Pick<Receipt<F>, 'blobGasUsed' | 'blobGasPrice'> {
  return p.flag() ? { blobGasUsed: p.u64(), blobGasPrice: p.word() } : { blobGasUsed: undefined, blobGasPrice: undefined }
}
