// debug_unsubscribe: Ends a subscription of this connection; an error if it does not exist.
import { word } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { endSubscription } from '../../subscription.ts'

export const unsubscribe = method({
  name: 'debug_unsubscribe',
  doc: 'Ends a subscription of this connection; an error if it does not exist.',
  result: 'boolean',
  cost: 'read',
  params: [required('id', word)],
  handle: ({ subscriber }, id) => endSubscription(subscriber, id),
})
