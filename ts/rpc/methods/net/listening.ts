// net_listening: Always true: a node that answers is listening.
import { json, method } from '../../method.ts'

export const listening = method({
  name: 'net_listening',
  doc: 'Always true: a node that answers is listening.',
  result: 'boolean',
  cost: 'read',
  params: [],
  handle: () => json(true),
})
