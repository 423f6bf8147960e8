// debug_unsubscribe: Ends a subscription of this connection.
import { word } from '../../codec/index.ts'
import { CODE, RpcError } from '../../errors.ts'
import { json, method, required } from '../../method.ts'
import { needed } from '../../subscription.ts'

export const unsubscribe = method({
  name: 'debug_unsubscribe',
  doc: 'Ends a subscription of this connection.',
  cost: 'read',
  params: [required('id', word)],
  handle({ subscriber }, id) {
    if (!needed(subscriber).unsubscribe(id)) throw new RpcError(CODE.server, 'subscription not found')
    return json(true)
  },
})
