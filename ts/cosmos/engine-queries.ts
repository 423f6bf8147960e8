// Queries that CometBFT answers: what the node is, blocks, sets of validators, transactions.
import { type RefusalKind, type RpcError, refusalKind, textOf } from '../consensus/refusals.ts'
import { EngineRefusal, EngineRpcError, engineResult, fetchEngine } from '../consensus/rpc.ts'
import { ACCOUNT_PREFIX, bech32 } from '../rpc/bech32.ts'
import { CODES, invalid, QueryFailure } from './failure.ts'
import * as S from './schemas.ts'
import { type AnyValue, decode, type Schema, type Values, WireError } from './wire.ts'

/** What these queries read from. */
export interface EngineSource {
  /** Where the RPC of CometBFT is; undefined where there is none. */
  readonly rpcUrl: () => string | undefined
  /** Version of this program. */
  readonly version: string
}

/**
 * A query that CometBFT answers: schema of its request, the query itself, schema of its
 * response.
 */
export interface EngineQuery {
  readonly request: Schema
  readonly response: Schema
  readonly answer: (source: EngineSource, request: Values) => Promise<Values>
}

/** Prefix of addresses of consensus keys. */
const CONSENSUS_PREFIX = `${ACCOUNT_PREFIX}valcons`

/** Most entries of a page of CometBFT. */
const PAGE_MAX = 100

/** Entries of a page where the request names none, as the SDK and the core have it. */
export const PAGE_DEFAULT = 100

function urlOf({ rpcUrl }: EngineSource): string {
  const url = rpcUrl()
  if (url === undefined) throw new QueryFailure(CODES.unavailable, 'this node has no CometBFT')
  return url
}

/** Codes by the kind of a refusal; any other kind is an internal failure. */
const REFUSAL_CODES: Partial<Record<RefusalKind, number>> = { not_found: CODES.notFound, bad_request: CODES.invalidArgument }

/** Codes of the SDK for what CometBFT itself refuses (cosmos-sdk types/errors/errors.go). */
const SDK_CODES: Partial<Record<RefusalKind, number>> = { in_cache: 19, mempool_full: 20, too_large: 21 }

/** A refusal of CometBFT as a failure of a query. */
function failureOf(e: unknown): unknown {
  if (e instanceof EngineRefusal) return new QueryFailure(REFUSAL_CODES[e.kind] ?? CODES.internal, e.message)
  return e instanceof EngineRpcError ? new QueryFailure(CODES.unavailable, e.message) : e
}

const ask = <T>(source: EngineSource, path: string): Promise<T> =>
  engineResult<T>(urlOf(source), path).catch((e: unknown) => {
    throw failureOf(e)
  })

/** A whole number of a request, as text; throws where it is none. */
function whole(value: unknown, name: string, least = 0): number | undefined {
  if (value === undefined || value === '') return undefined
  const number = /^\d{1,16}$/.test(String(value)) ? Number(value) : Number.NaN
  if (!(number >= least)) throw invalid(`invalid ${name} ${String(value).slice(0, 40)}`)
  return number
}

interface BlockAnswer {
  readonly block_id: Values
  readonly block: {
    readonly header: { readonly proposer_address: string }
    readonly evidence?: { readonly evidence?: readonly unknown[] | null }
  } | null
}

async function blockAt(source: EngineSource, height: number | undefined): Promise<Values> {
  const { block_id, block } = await ask<BlockAnswer>(source, height === undefined ? 'block' : `block?height=${height}`)
  // CometBFT answers so until the first block is committed.
  if (block === null) throw new QueryFailure(CODES.unavailable, 'the chain has no block yet')
  if ((block.evidence?.evidence ?? []).length > 0)
    throw new QueryFailure(CODES.unimplemented, 'blocks with evidence are not served here: the RPC of CometBFT has them')
  const proposer = bech32(CONSENSUS_PREFIX, Buffer.from(block.header.proposer_address, 'hex'))
  return { block_id, block, sdk_block: { ...block, header: { ...block.header, proposer_address: proposer } } }
}

interface ValidatorAnswer {
  readonly address: string
  readonly pub_key: { readonly type: string; readonly value: string }
  readonly voting_power: string
  readonly proposer_priority: string
}

async function validatorsAt(source: EngineSource, height: number | undefined, page: Values | undefined): Promise<Values> {
  if (page?.key !== undefined && page.key !== '') throw invalid('sets of validators have no pages by key: use offset')
  let at = height === undefined ? '' : `&height=${height}`
  const all: ValidatorAnswer[] = []
  let blockHeight = ''
  for (let n = 1; ; n++) {
    const part = await ask<{ block_height: string; validators: ValidatorAnswer[]; total: string }>(
      source,
      `validators?per_page=${PAGE_MAX}&page=${n}${at}`,
    )
    blockHeight = part.block_height
    // All pages are of one set, also where a new block comes between two of them.
    at = `&height=${blockHeight}`
    all.push(...part.validators)
    if (part.validators.length < PAGE_MAX || all.length >= Number(part.total)) break
  }
  const offset = whole(page?.offset, 'offset') ?? 0
  const limit = whole(page?.limit, 'limit') || PAGE_DEFAULT
  const validators = all.slice(offset, offset + limit).map((v) => {
    if (v.pub_key.type !== 'tendermint/PubKeyEd25519') throw new QueryFailure(CODES.unimplemented, `keys of type ${v.pub_key.type}`)
    const key: AnyValue = {
      type: S.ED25519,
      schema: S.REGISTRY.get(S.ED25519) as Schema,
      values: { key: v.pub_key.value },
    }
    return { ...v, address: bech32(CONSENSUS_PREFIX, Buffer.from(v.address, 'hex')), pub_key: key }
  })
  return { block_height: blockHeight, validators, pagination: { next_key: null, total: String(all.length) } }
}

interface NodeInfoAnswer {
  readonly node_info: Values & { readonly protocol_version: Values }
  readonly sync_info: { readonly catching_up: boolean }
}

interface EventAnswer {
  readonly type: string
  readonly attributes?: readonly { readonly key: string; readonly value: string; readonly index?: boolean }[] | null
}

interface TxAnswer {
  readonly hash: string
  readonly height: string
  readonly tx: string
  readonly tx_result: Values & { readonly data?: string | null; readonly log?: string; readonly events?: readonly EventAnswer[] | null }
}

/** The first byte of a transaction of the Cosmos SDK; every other one is Ethereum's. */
const COSMOS_TX = 0x0a

/**
 * The values of a transaction of the Cosmos SDK; undefined where it is Ethereum's, or none that
 * this node reads.
 */
function txOf(raw: Buffer): Values | undefined {
  if (raw[0] !== COSMOS_TX) return undefined
  try {
    return decode(S.TX, raw, S.REGISTRY)
  } catch (e) {
    // A block may hold any bytes.
    if (e instanceof WireError) return undefined
    throw e
  }
}

/** A transaction of a block with its outcome. */
function resultOf(
  { hash, height, tx, tx_result }: TxAnswer,
  timestamp: string,
): { readonly tx: Values | undefined; readonly response: Values } {
  const values = txOf(Buffer.from(tx, 'base64'))
  const { data, log, events } = tx_result
  const response = {
    ...tx_result,
    height,
    txhash: hash,
    data: Buffer.from(data ?? '', 'base64')
      .toString('hex')
      .toUpperCase(),
    raw_log: log,
    tx: values && { type: S.TX_TYPE, schema: S.TX, values },
    timestamp,
    events: events ?? [],
  }
  return { tx: values, response }
}

const timeOf = async (source: EngineSource, height: string): Promise<string> =>
  (await ask<{ header: { time: string } }>(source, `header?height=${height}`)).header.time

async function getTx(source: EngineSource, { hash }: Values): Promise<Values> {
  if (typeof hash !== 'string' || !/^[0-9a-fA-F]{64}$/.test(hash)) throw invalid('a hash of 64 hex digits is expected')
  const found = await ask<TxAnswer>(source, `tx?hash=0x${hash}`).catch((e: unknown) => {
    throw e instanceof QueryFailure && e.code === CODES.notFound ? new QueryFailure(CODES.notFound, `tx not found: ${hash}`) : e
  })
  const { tx, response } = resultOf(found, await timeOf(source, found.height))
  return { tx, tx_response: response }
}

async function searchTxs(source: EngineSource, request: Values): Promise<Values> {
  const events = (request.events ?? []) as readonly string[]
  const query = (request.query as string | undefined) || events.join(' AND ')
  if (query === '') throw invalid('query cannot be empty')
  const page = whole(request.page, 'page') || 1
  const limit = Math.min(whole(request.limit, 'limit') || PAGE_DEFAULT, PAGE_MAX)
  const order = S.ORDER_NAMES[Number(request.order_by ?? 0)] === 'ORDER_BY_DESC' ? 'desc' : 'asc'
  const path = `tx_search?query=${encodeURIComponent(JSON.stringify(query))}&page=${page}&per_page=${limit}&order_by="${order}"`
  const found = await ask<{ txs: readonly TxAnswer[]; total_count: string }>(source, path)
  const heights = [...new Set(found.txs.map(({ height }) => height))]
  const times = new Map(await Promise.all(heights.map(async (height) => [height, await timeOf(source, height)] as const)))
  const results = found.txs.map((tx) => resultOf(tx, times.get(tx.height) ?? ''))
  return {
    // A transaction of Ethereum has no form of the SDK: its place is an empty one.
    txs: results.map(({ tx }) => tx ?? {}),
    tx_responses: results.map(({ response }) => response),
    total: found.total_count,
  }
}

/** How long a transaction may be checked, in milliseconds. */
const BROADCAST_MS_MAX = 10_000

async function broadcastTx(source: EngineSource, { tx_bytes, mode }: Values): Promise<Values> {
  if (typeof tx_bytes !== 'string' || tx_bytes === '') throw invalid('invalid empty tx')
  const name = S.BROADCAST_MODES[Number(mode ?? 0)] ?? ''
  const method = { BROADCAST_MODE_SYNC: 'broadcast_tx_sync', BROADCAST_MODE_ASYNC: 'broadcast_tx_async' }[name]
  if (method === undefined) throw invalid('unsupported broadcast mode: BROADCAST_MODE_SYNC and BROADCAST_MODE_ASYNC are served')
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { tx: tx_bytes } })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const answer = (await fetchEngine(urlOf(source), init, BROADCAST_MS_MAX).catch((e: unknown) => {
    throw failureOf(e)
  })) as { result?: Values & { hash: string; log?: string }; error?: RpcError }
  if (answer.result === undefined) {
    const error = answer.error ?? {}
    const code = SDK_CODES[refusalKind(error)]
    if (code === undefined) throw new QueryFailure(CODES.internal, textOf(error))
    return { tx_response: { codespace: 'sdk', code, raw_log: textOf(error) } }
  }
  const { result } = answer
  return { tx_response: { ...result, txhash: result.hash, raw_log: result.log, data: '' } }
}

/** The number of an enum's name, which JSON may hold; anything else stays. */
const numbered = (names: readonly string[], value: unknown): unknown =>
  names.includes(value as string) ? names.indexOf(value as string) : value

/** A request as REST gives it, with the names of enums as numbers and its page in one piece. */
export function engineParams(params: Values): Values {
  const page: Record<string, unknown> = {}
  const rest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(params)) {
    if (name.startsWith('pagination.')) page[name.slice('pagination.'.length)] = value
    else rest[name] = value
  }
  if (typeof rest.events === 'string') rest.events = [rest.events]
  return {
    ...rest,
    mode: numbered(S.BROADCAST_MODES, rest.mode),
    order_by: numbered(S.ORDER_NAMES, rest.order_by),
    pagination: page,
  }
}

const heightOf = ({ height }: Values): number => {
  const number = whole(height, 'height', 1)
  if (number === undefined) throw invalid('height cannot be empty')
  return number
}

/** The queries by name. */
export const ENGINE_QUERIES: ReadonlyMap<string, EngineQuery> = new Map<string, EngineQuery>([
  [
    'cosmos.base.tendermint.v1beta1.Service/GetNodeInfo',
    {
      request: S.EMPTY,
      response: S.NODE_INFO_RESPONSE,
      answer: async (source) => {
        const { node_info } = await ask<NodeInfoAnswer>(source, 'status')
        return { default_node_info: node_info, application_version: { name: 'hearth', app_name: 'hearth', version: source.version } }
      },
    },
  ],
  [
    'cosmos.base.tendermint.v1beta1.Service/GetSyncing',
    {
      request: S.EMPTY,
      response: S.SYNCING_RESPONSE,
      answer: async (source) => ({ syncing: (await ask<NodeInfoAnswer>(source, 'status')).sync_info.catching_up }),
    },
  ],
  [
    'cosmos.base.tendermint.v1beta1.Service/GetLatestBlock',
    { request: S.EMPTY, response: S.BLOCK_RESPONSE, answer: (source) => blockAt(source, undefined) },
  ],
  [
    'cosmos.base.tendermint.v1beta1.Service/GetBlockByHeight',
    { request: S.HEIGHT_REQUEST, response: S.BLOCK_RESPONSE, answer: (source, request) => blockAt(source, heightOf(request)) },
  ],
  [
    'cosmos.base.tendermint.v1beta1.Service/GetLatestValidatorSet',
    {
      request: S.PAGED_REQUEST,
      response: S.VALIDATOR_SET_RESPONSE,
      answer: (source, { pagination }) => validatorsAt(source, undefined, pagination as Values | undefined),
    },
  ],
  [
    'cosmos.base.tendermint.v1beta1.Service/GetValidatorSetByHeight',
    {
      request: S.HEIGHT_REQUEST,
      response: S.VALIDATOR_SET_RESPONSE,
      answer: (source, request) => validatorsAt(source, heightOf(request), request.pagination as Values | undefined),
    },
  ],
  ['cosmos.tx.v1beta1.Service/BroadcastTx', { request: S.BROADCAST_REQUEST, response: S.BROADCAST_RESPONSE, answer: broadcastTx }],
  ['cosmos.tx.v1beta1.Service/GetTx', { request: S.GET_TX_REQUEST, response: S.GET_TX_RESPONSE, answer: getTx }],
  ['cosmos.tx.v1beta1.Service/GetTxsEvent', { request: S.SEARCH_REQUEST, response: S.SEARCH_RESPONSE, answer: searchTxs }],
])
