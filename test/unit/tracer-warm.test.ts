// The transaction with which an isolate is warmed up before it is needed.
import vm from 'node:vm'
import { describe, expect, it } from 'vitest'
import { insideScript } from '../../dist/tracer/bundle.js'
import { chunkOf } from '../../ts/tracer/inside/chunk.ts'
import { WARM_FIELDS, WARM_OUTCOME, warmChunk } from '../../ts/tracer/inside/warm.ts'
import { chunk, enter, exit } from './tracer-channel.ts'

/** The call of the inside that warms up. */
const WARM = 4

describe('the warm-up of an isolate', () => {
  it('has the chunk that the core would send', () => {
    const step = { op: 0x01, depth: 0, push: ['00'] }
    const sent = chunk(WARM_FIELDS, [step], [enter(0, { shown: true }), exit(1, { shown: true })])
    const [ours, theirs] = [chunkOf(warmChunk()), chunkOf(new Uint8Array(sent).buffer)]
    expect(ours.columns).toEqual(theirs.columns)
    expect([ours.events, ours.eventsAt, ours.bytes.length]).toEqual([theirs.events, theirs.eventsAt, theirs.bytes.length])
  })

  it('shows a script the step, the frame and the context', () => {
    const inside = vm.runInNewContext(insideScript()) as (call: number) => string | undefined
    expect(inside(WARM)).toBe(WARM_OUTCOME)
    expect(WARM_OUTCOME).toBe('R{"type":"CALL","to":"0x02","counts":{"ADD":2}}')
  })

  it('fails where its answer is another one', () => {
    const text = insideScript().replace('"counts":{"ADD":2}', '"counts":{"SUB":2}')
    const inside = vm.runInNewContext(text) as (call: number) => string | undefined
    expect(() => inside(WARM)).toThrow(/the transaction of the warm-up ended with R\{.*"ADD":2\}/)
  })
})
