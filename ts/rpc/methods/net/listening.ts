// net_listening: Always true: whoever reaches this answer is listened to.
import { json, method } from '../../method.ts'

export const listening = method({
  name: 'net_listening',
  doc: 'Always true: whoever reaches this answer is listened to.',
  cost: 'read',
  params: [],
  handle: () => json(true),
})
