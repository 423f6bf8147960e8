// Rows of the bench trace-parity: pairs of requests in turns, and requests alone.
import { addedMiB } from '../process.mjs'
import { ask } from '../rpc.mjs'
import { median, spread } from '../stats.mjs'

/** Interleaved pairs a row. */
const PAIRS = 25

/** Requests that are not measured before those of a row. */
const WARM = 5

/** What ends the last cell of a row that does not hold what is wanted. */
export const verdict = (holds) => (holds ? '' : '  LOSING')

/** @typedef {[url: string, method: string, params: unknown[]]} Request */

/**
 * A row of two requests, `[url, method, params]` each: how much longer the first takes, where
 * `atMost` is wanted, or how much longer the second one takes, where `atLeast` is.
 *
 * @param {string} name
 * @param {Request} own
 * @param {Request} peer
 * @param {{ atMost?: number, atLeast?: number }} wanted
 */
export async function pair(name, own, peer, { atMost, atLeast }) {
  for (let i = 0; i < WARM; i++) for (const request of [own, peer]) await ask(...request)
  const times = { own: [], peer: [] }
  for (let i = 0; i < PAIRS; i++) {
    /** @type {(side: string, request: Request) => Promise<number>} */
    const timed = async (side, request) => times[side].push((await ask(...request)).ms)
    for (const side of i % 2 ? ['peer', 'own'] : ['own', 'peer']) await timed(side, side === 'own' ? own : peer)
  }
  const ratios = times.own.map((ms, i) => (atLeast === undefined ? ms / times.peer[i] : times.peer[i] / ms))
  const holds = atLeast === undefined ? median(ratios) <= atMost : median(ratios) >= atLeast
  const wanted = atLeast === undefined ? `at most ${atMost} times as long` : `at least ${atLeast} times as fast`
  return [name, spread(times.own), spread(times.peer), spread(ratios, 2), `${wanted}${verdict(holds)}`]
}

/**
 * A row of one request: how long it takes warm, and how long it may.
 *
 * @param {string} name
 * @param {Request} request
 * @param {number} atMost
 */
export async function alone(name, request, atMost) {
  for (let i = 0; i < WARM; i++) await ask(...request)
  const times = []
  for (let i = 0; i < PAIRS; i++) times.push((await ask(...request)).ms)
  return [name, spread(times), '', '', `at most ${atMost} ms${verdict(median(times) <= atMost)}`]
}

/** JUMPDEST, PUSH1 0, JUMP: runs until its gas is gone. */
const LOOP = '0x5b600056'

/** What the vmTrace of a call adds to the memory of a node, in MiB; `text`: bytes of the answer. */
async function addedByLoop(node, gas) {
  let text = 0
  const call = [{ data: LOOP, gas: `0x${gas.toString(16)}` }, ['vmTrace'], 'latest']
  const added = await addedMiB(node.pid, async () => {
    text = (await ask(node.url, 'trace_call', call)).bytes
  })
  return { added, text }
}

/**
 * A row of the memory that the vmTrace of a long call takes, on a node that has just started: what
 * a short call of the same kind took first is not counted.
 */
export async function memoryRow(node, gas, atMost) {
  await addedByLoop(node, gas / 100)
  const { added, text } = await addedByLoop(node, gas)
  const size = `${gas / 1e6} Mgas of short instructions, ${(text / 2 ** 20).toFixed(0)} MiB`
  const known = added === undefined ? 'not known here' : added.toFixed(0)
  return [`vmTrace of ${size}: memory (MiB)`, known, '', '', `at most ${atMost} MiB${verdict(added === undefined || added <= atMost)}`]
}
