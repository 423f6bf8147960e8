// ots_getApiLevel: The level of Otterscan's methods that this node speaks.
import { json, method } from '../../method.ts'

/** The level that Otterscan wants; it refuses lower ones. */
const LEVEL = 8

export const otsApiLevel = method({
  name: 'ots_getApiLevel',
  doc: "The level of Otterscan's methods that this node speaks: 8.",
  result: 'number',
  cost: 'read',
  params: [],
  handle: () => json(LEVEL),
})
