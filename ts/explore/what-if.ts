// Calls that are not mined: what a form says, as the arguments of debug_traceCall, and mined
// transactions as such calls.

/** A call, a place for it, and what is different there. Hex where JSON-RPC has hex. */
export interface WhatIf {
  /** Fields of the transaction as eth_call takes them. */
  readonly call: Readonly<Record<string, unknown>>
  /** Height in decimal or hex, a hash or a tag. */
  readonly block: string
  /** The call runs before this transaction of the block; after the block where absent. */
  readonly index?: number | undefined
  readonly stateOverrides?: Readonly<Record<string, unknown>> | undefined
  readonly blockOverrides?: Readonly<Record<string, unknown>> | undefined
  /** The mined transaction that it was made from. */
  readonly replay?: string | undefined
}

/** A form that does not read; the message says what would. */
export class BadWhatIf extends Error {
  override name = 'BadWhatIf'
}

/** Fields of a mined transaction that a call takes over; its price too, which code may read. */
const TAKEN = ['from', 'to', 'value', 'gas', 'accessList', 'maxFeePerBlobGas', 'blobVersionedHashes', 'authorizationList'] as const

/** The fields of a mined transaction that matter here. */
export interface MinedTransaction {
  readonly hash: string
  readonly blockNumber: string
  readonly transactionIndex: string
  readonly input: string
  readonly [field: string]: unknown
}

/** A mined transaction as a call on the state before it. */
export function replayOf(tx: MinedTransaction): WhatIf {
  const call: Record<string, unknown> = { data: tx.input }
  for (const field of TAKEN) if (tx[field] !== undefined && tx[field] !== null) call[field] = tx[field]
  // A transaction with a fee cap also contains its effective gas price, which a call must not have
  // in addition.
  const price = tx.maxFeePerGas === undefined ? ['gasPrice'] : ['maxFeePerGas', 'maxPriorityFeePerGas']
  for (const field of price) if (tx[field] !== undefined) call[field] = tx[field]
  return { call, block: tx.blockNumber, index: Number(tx.transactionIndex), replay: tx.hash }
}

const WEI: Readonly<Record<string, bigint>> = { wei: 1n, gwei: 10n ** 9n, ether: 10n ** 18n }

/** An amount as a reader writes it: wei, `0x…`, `1.5 ether`, `20 gwei`; as hex. */
export function amountOf(text: string, name: string): string {
  const [, whole = '', rest = '', unit = 'wei'] = /^([\d,_]+)(?:\.(\d+))?\s*(wei|gwei|ether)?$/i.exec(text.trim()) ?? []
  const digits = whole.replaceAll(/[,_]/g, '')
  if (/^0x[0-9a-fA-F]{1,64}$/.test(text.trim())) return `0x${BigInt(text.trim()).toString(16)}`
  const scale = WEI[unit.toLowerCase()] as bigint
  const amount =
    digits === '' ? undefined : BigInt(digits) * scale + (rest === '' ? 0n : (BigInt(rest) * scale) / 10n ** BigInt(rest.length))
  if (amount === undefined || (rest !== '' && (BigInt(rest) * scale) % 10n ** BigInt(rest.length) !== 0n))
    throw new BadWhatIf(`${name} takes an amount such as 1000, 0x3e8, 20 gwei or 1.5 ether, not ${JSON.stringify(text.slice(0, 60))}`)
  return `0x${amount.toString(16)}`
}

/** A JSON object of a form; undefined for an empty text. */
export function objectText(text: string, name: string, example: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === '') return undefined
  const wrong = new BadWhatIf(`${name} takes a JSON object such as ${example}`)
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw wrong
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw wrong
  return parsed as Readonly<Record<string, unknown>>
}

/** A block of a form as JSON-RPC takes it. */
export function blockOf(text: string): string {
  const word = text.trim().replaceAll(/[,_]/g, '')
  if (/^\d{1,15}$/.test(word)) return `0x${BigInt(word).toString(16)}`
  if (/^(latest|pending|safe|finalized|earliest|0x[0-9a-fA-F]{1,16}|0x[0-9a-fA-F]{64})$/.test(word)) return word.toLowerCase()
  throw new BadWhatIf(`Block takes a height, a hash or a tag such as latest, not ${JSON.stringify(text.slice(0, 80))}`)
}

/** What a parsed JSON says, checked as far as its shape goes. */
export function whatIfOf(value: unknown): WhatIf {
  const { call, block, index, stateOverrides, blockOverrides, replay } = (value ?? {}) as Record<string, unknown>
  const isObject = (one: unknown): one is Record<string, unknown> => typeof one === 'object' && one !== null && !Array.isArray(one)
  if (!isObject(call) || typeof block !== 'string') throw new BadWhatIf('this is no what-if: it has no call and no block')
  return {
    call,
    block: blockOf(block),
    ...(typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 ? { index } : {}),
    ...(isObject(stateOverrides) ? { stateOverrides } : {}),
    ...(isObject(blockOverrides) ? { blockOverrides } : {}),
    ...(typeof replay === 'string' && /^0x[0-9a-f]{64}$/.test(replay) ? { replay } : {}),
  }
}

const hexOf = (n: number): string => `0x${n.toString(16)}`

/**
 * What differs from a plain call, as options of debug_traceCall and of the step methods name it.
 */
const placeOf = ({ index, stateOverrides, blockOverrides }: WhatIf): Record<string, unknown> => ({
  ...(index === undefined ? {} : { txIndex: hexOf(index) }),
  ...(stateOverrides === undefined ? {} : { stateOverrides }),
  ...(blockOverrides === undefined ? {} : { blockOverrides }),
})

/** Arguments of debug_traceCall. */
export const traceCallOf = (whatIf: WhatIf, options: object): unknown[] => [whatIf.call, whatIf.block, { ...options, ...placeOf(whatIf) }]

/** The first parameter of the step methods. */
export const steppedOf = (whatIf: WhatIf): unknown => ({ transaction: whatIf.call, block: whatIf.block, ...placeOf(whatIf) })

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const CALL_TRACER = { tracer: 'callTracer', tracerConfig: { withLog: true } } as const

/** The call as a command for curl. */
export function curlOf(whatIf: WhatIf, url: string): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_traceCall', params: traceCallOf(whatIf, CALL_TRACER) })
  return `curl ${quoted(url)} -H 'content-type: application/json' -d ${quoted(body)}`
}

/** The call as a command for Foundry's cast. */
export function castOf(whatIf: WhatIf, url: string): string {
  const params = traceCallOf(whatIf, CALL_TRACER).map((param) => quoted(JSON.stringify(param)))
  return `cast rpc --rpc-url ${quoted(url)} debug_traceCall ${params.join(' ')}`
}

/** The call for a client of viem. */
export const viemOf = (whatIf: WhatIf): string =>
  `await client.request({ method: 'debug_traceCall', params: ${JSON.stringify(traceCallOf(whatIf, CALL_TRACER), null, 2)} })`
