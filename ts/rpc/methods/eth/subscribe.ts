// eth_subscribe: Over WebSocket: what happens from now on, as notifications.
import { anything, arrayOf, BadValue, boolean, fields, filter, followable, hash, word } from '../../codec/index.ts'
import { CODE, invalidParams, RpcError, serverError } from '../../errors.ts'
import type { Interest } from '../../follow/index.ts'
import { json, method, optional, required } from '../../method.ts'
import { needed, type Source } from '../../subscription.ts'

/** Subscriptions that have no criteria. */
const WITHOUT_CRITERIA: ReadonlySet<string> = new Set(['newHeads', 'syncing'])

/** Transactions of one subscription to receipts; go-ethereum's limit (eth/filters/api.go). */
const HASHES_MAX = 200

/** Hashes of a request that are read before the limit is compared. */
const HASHES_READ_MAX = 10_000

const receiptsQuery = fields({ transactionHashes: arrayOf(hash, HASHES_READ_MAX) })

/** The transactions whose receipts are wanted; none stands for all. */
function hashesOf(value: unknown): readonly string[] {
  const { transactionHashes = [] } = receiptsQuery(value) as { transactionHashes?: readonly string[] }
  if (transactionHashes.length > HASHES_MAX)
    throw serverError('exceed max number of transaction hashes allowed per transactionReceipts subscription')
  return transactionHashes.map((one) => one.toLowerCase())
}

/** Runs a codec on the second parameter. */
function criteria<T>(read: () => T): T {
  try {
    return read()
  } catch (e) {
    throw e instanceof BadValue ? invalidParams(`invalid argument 1: ${e.message}`) : e
  }
}

/**
 * The interest of a subscription's name and criteria; undefined for `syncing`, of which no
 * notifications are sent.
 */
function interestOf(name: string, value: unknown): Interest | undefined {
  if (WITHOUT_CRITERIA.has(name) && value !== undefined) throw invalidParams('too many arguments, want at most 1')
  switch (name) {
    case 'newHeads':
      return { kind: 'heads' }
    case 'logs':
      if (value === undefined) throw invalidParams('missing value for required argument 1')
      return { kind: 'logs', filter: criteria(() => followable(filter(value ?? {}))) }
    case 'transactionReceipts':
      return { kind: 'receipts', hashes: criteria(() => hashesOf(value ?? {})) }
    case 'newPendingTransactions':
      return { kind: 'transactions', full: criteria(() => boolean(value ?? false)) }
    case 'syncing':
      return undefined
    default:
      throw new RpcError(CODE.methodNotFound, `no "${name}" subscription in eth namespace`)
  }
}

/** A source without notifications. */
const silence: Source = async () => () => undefined

export const ethSubscribe = method({
  name: 'eth_subscribe',
  doc: 'Over WebSocket: sends what happens from now on as notifications `eth_subscription`. `"newHeads"`: headers; `"logs"` with a filter: logs, those of blocks that left the chain with `removed: true`, the last one first; `"newPendingTransactions"`: hashes, or whole transactions with `true`; `"transactionReceipts"`: one list of receipts for each block, with `{transactionHashes}` those of at most 200 transactions; `"syncing"`: accepted, without notifications; eth_syncing has the progress. The id of the subscription.',
  result: 'text: the id of the filter or subscription',
  cost: 'read',
  keeps: true,
  params: [required('name', word), { ...optional('criteria', anything), whenNull: null }],
  async handle({ follow, subscriber: given, client }, name, value) {
    const subscriber = needed(given)
    const interest = interestOf(name, value)
    return json(await subscriber.follow('eth', interest === undefined ? silence : follow.source(interest, client)))
  },
})
