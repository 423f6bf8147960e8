// eth_subscribe: Over WebSocket: what happens from now on, as notifications.
import { anything, BadValue, boolean, filter, followable, word } from '../../codec/index.ts'
import { CODE, invalidParams, RpcError } from '../../errors.ts'
import type { Interest } from '../../follow/index.ts'
import { json, method, optional, required } from '../../method.ts'
import { needed, type Source } from '../../subscription.ts'

/** Runs a codec on the second parameter. */
function criteria<T>(read: () => T): T {
  try {
    return read()
  } catch (e) {
    throw e instanceof BadValue ? invalidParams(`invalid argument 1: ${e.message}`) : e
  }
}

/**
 * The interest of a subscription's name and criteria; undefined for `syncing`, which this node
 * never is.
 */
function interestOf(name: string, value: unknown): Interest | undefined {
  switch (name) {
    case 'newHeads':
      return { kind: 'heads' }
    case 'logs':
      if (value === undefined) throw invalidParams('missing value for required argument 1')
      return { kind: 'logs', filter: criteria(() => followable(filter(value))) }
    case 'newPendingTransactions':
      return { kind: 'transactions', full: criteria(() => boolean(value ?? false)) }
    case 'syncing':
      return undefined
    default:
      throw new RpcError(CODE.methodNotFound, `no "${name}" subscription in eth namespace`)
  }
}

/** Nothing ever happens. */
const silence: Source = async () => () => undefined

export const ethSubscribe = method({
  name: 'eth_subscribe',
  doc: 'Over WebSocket: sends what happens from now on as notifications `eth_subscription`. `"newHeads"`: headers; `"logs"` with a filter: logs, those of blocks that left the chain with `removed: true`, the last one first; `"newPendingTransactions"`: hashes, or whole transactions with `true`; `"syncing"`: nothing, since this node never syncs. The id of the subscription.',
  result: 'text: the id of the filter or subscription',
  cost: 'read',
  keeps: true,
  params: [required('name', word), optional('criteria', anything)],
  async handle({ follow, subscriber: given, client }, name, value) {
    const subscriber = needed(given)
    const interest = interestOf(name, value)
    return json(await subscriber.follow('eth', interest === undefined ? silence : follow.source(interest, client)))
  },
})
