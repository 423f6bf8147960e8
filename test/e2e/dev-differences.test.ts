// The same requests on `hearth dev`, anvil and geth. Where Hearth and anvil differ, the table says who geth sides with.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DevNode, missing, RETRIES, startNamed } from './dev-node.ts'
import { answerOf, makePlace, type Place, REQUESTS } from './dev-requests.ts'

/** With whom geth answers. */
type Side = 'hearth' | 'anvil' | 'neither'

/** Requests that Hearth and anvil answer differently. */
const DIFFERENT: Readonly<Record<string, Side>> = {
  'a call in a block that does not exist': 'hearth',
  'a balance in a block that does not exist': 'hearth',
  'a call of INVALID': 'hearth',
  'a call of an opcode that does not exist': 'hearth',
  'a call that underflows the stack': 'hearth',
  'a call that jumps nowhere': 'hearth',
  'a call with too little gas': 'hearth',
  'a call with less gas than any transaction needs': 'hearth',
  'a call with value that nobody has': 'hearth',
  'a call whose fee is below the base fee': 'hearth',
  'a call with both kinds of fees': 'hearth',
  'a hash that is too short': 'hearth',
  'an address that is too short': 'hearth',
  'no parameters where some are needed': 'hearth',
  'a quantity with leading zeros': 'hearth',
  'a tag that does not exist': 'hearth',
  'a method that does not exist': 'hearth',
  'logs of blocks the wrong way round': 'hearth',
  'logs of a block hash and of numbers': 'hearth',
  'logs of a block that does not exist': 'hearth',
  'bytes that are no transaction': 'hearth',
  'sending from somebody else': 'hearth',
  'sending with a nonce that was used': 'hearth',
  'sending with less gas than needed': 'hearth',
  'sending what fails, without gas': 'hearth',
  'sending data and input that differ': 'hearth',
  'a trace of a transaction that does not exist': 'hearth',
  'a trace with a tracer that does not exist': 'neither',
  'a trace of a transaction': 'hearth',
  'a trace of a call that reverts': 'hearth',
  'the bytes of a transaction that does not exist': 'hearth',
  'history of fees of no blocks': 'hearth',
  'history of fees, percentiles that fall': 'hearth',
  'a proof in a block that does not exist': 'hearth',
  'simulation of blocks whose numbers fall': 'hearth',
  'an override of both state and stateDiff': 'hearth',
}

const NAMES = ['hearth', 'anvil', 'geth'] as const
const why = NAMES.map((name) => missing(name)).find((reason) => reason !== undefined)

describe('requests that development nodes answer differently', () => {
  if (why !== undefined) {
    it.skip(`skipped: differences between development nodes: ${why}`, () => undefined)
    return
  }
  const nodes: DevNode[] = []
  const places = new Map<string, Place>()

  beforeAll(async () => {
    for (const name of NAMES) {
      const node = await startNamed(name)
      nodes.push(node)
      places.set(name, await makePlace(node.url))
    }
  })
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()))
  })

  it.each(Object.keys(REQUESTS))('%s', { retry: RETRIES.anvil }, async (name) => {
    const request = REQUESTS[name] as (typeof REQUESTS)[string]
    const ask = (node: string): Promise<string> => answerOf(places.get(node) as Place, request)
    const [hearth, anvil, geth] = [await ask('hearth'), await ask('anvil'), await ask('geth')]
    const side: Side | 'nobody differs' =
      hearth === anvil ? 'nobody differs' : geth === hearth ? 'hearth' : geth === anvil ? 'anvil' : 'neither'
    expect({ side, hearth, anvil, geth }).toEqual({ side: DIFFERENT[name] ?? 'nobody differs', hearth, anvil, geth })
  })
})
