// Answers of `hearth dev` to requests that development nodes answer differently. The full run
// queries anvil and geth too: where Hearth and anvil differ, the table has the answer of geth.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANSWERS } from './dev-answers.ts'
import { type DevNode, missing, startNamed } from './dev-node.ts'
import { answerOf, makePlace, type Place, REQUESTS } from './dev-requests.ts'
import { FULL, onPeer } from './peer.ts'

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

const PEERS = ['anvil', 'geth'] as const

describe('requests that development nodes answer differently', () => {
  const nodes: DevNode[] = []
  const places = new Map<string, Place>()
  /** Where this run has all three. */
  let isCompared = FULL
  const add = async (name: DevNode['name']): Promise<void> => {
    const node = await startNamed(name)
    nodes.push(node)
    places.set(name, await makePlace(node.url))
  }

  beforeAll(async () => {
    await add('hearth')
    const why = PEERS.map(missing).find((reason) => reason !== undefined)
    if (why !== undefined) console.log(`skipped: differences from anvil and geth: ${why}`)
    isCompared = why === undefined
    if (isCompared) for (const name of PEERS) await onPeer(name, 'its chain', () => add(name))
  })
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()))
  })

  const ask = (node: string, name: string): Promise<string> =>
    answerOf(places.get(node) as Place, REQUESTS[name] as (typeof REQUESTS)[string])

  it('have an answer each that is expected', () => {
    expect(Object.keys(ANSWERS)).toEqual(Object.keys(REQUESTS))
  })

  it.each(Object.keys(REQUESTS))('%s', async (name) => {
    const hearth = await ask('hearth', name)
    expect(hearth).toBe(ANSWERS[name])
    if (!isCompared) return
    await onPeer('anvil', `beside geth: ${name}`, async () => {
      const [anvil, geth] = [await ask('anvil', name), await ask('geth', name)]
      const side: Side | 'nobody differs' =
        hearth === anvil ? 'nobody differs' : geth === hearth ? 'hearth' : geth === anvil ? 'anvil' : 'neither'
      const expected = DIFFERENT[name] ?? 'nobody differs'
      if (side !== expected) throw new Error(`${side} instead of ${expected}: hearth ${hearth}; anvil ${anvil}; geth ${geth}`)
    })
  })
})
