// debug_subscribe: Traces of a range of blocks as notifications, each block traced when the one
// before has been sent.
import { blockNumber, traceConfig, underRules, word } from '../../codec/index.ts'
import { CODE, RpcError } from '../../errors.ts'
import { json, method, optional, required } from '../../method.ts'
import { needed } from '../../subscription.ts'
import { traceChainFeed } from '../../trace-chain.ts'

export const subscribe = method({
  name: 'debug_subscribe',
  doc: 'Over WebSocket: `"traceChain", start, end, config` sends the traces of the blocks behind `start` up to `end` as notifications `debug_subscription` with `{block, hash, traces}`. Blocks without transactions are left out, but for the last. A block that cannot be traced has `error` in place of `traces`, and is the last.',
  result: 'text: the id of the filter or subscription',
  cost: 'heavy',
  params: [required('name', word), required('start', blockNumber), required('end', blockNumber), optional('config', traceConfig)],
  async handle({ core, trace, subscriber: given }, name, start, end, config) {
    const subscriber = needed(given)
    if (name !== 'traceChain') throw new RpcError(CODE.methodNotFound, `no "${name}" subscription in debug namespace`)
    return json(subscriber.subscribe('debug', await traceChainFeed(core, start, end, underRules(config, trace), subscriber.report)))
  },
})
