// What the page reads of the chain, in the words of JSON-RPC.

export interface Header {
  readonly number: string
  readonly hash: string
  readonly parentHash: string
  readonly timestamp: string
  readonly gasUsed: string
  readonly gasLimit: string
  readonly miner: string
  readonly baseFeePerGas?: string
  readonly stateRoot: string
  readonly extraData: string
}

export interface Transaction {
  readonly hash: string
  readonly type?: string
  readonly from: string
  readonly to: string | null
  readonly value: string
  readonly input: string
  readonly nonce: string
  readonly gas: string
  readonly gasPrice?: string
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
  readonly blockNumber: string | null
  readonly blockHash: string | null
  readonly transactionIndex: string | null
}

export interface Block extends Header {
  readonly size?: string
  readonly transactions: readonly Transaction[]
}

export interface Receipt {
  readonly transactionHash: string
  readonly blockHash: string
  readonly gasUsed: string
  readonly effectiveGasPrice?: string
  readonly contractAddress: string | null
  readonly status?: string
}

export const isHash = (text: string): boolean => /^0x[0-9a-fA-F]{64}$/.test(text)
export const isAddress = (text: string): boolean => /^0x[0-9a-fA-F]{40}$/.test(text)
export const isHeight = (text: string): boolean => /^\d{1,15}$/.test(text)
const TAGS: ReadonlySet<string> = new Set(['latest', 'earliest', 'safe', 'finalized'])
export const isTag = (text: string): boolean => TAGS.has(text)

/** A block as methods take it. */
export const blockParameter = (id: string): string => (isHeight(id) ? `0x${BigInt(id).toString(16)}` : id)
