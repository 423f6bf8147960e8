import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Child, chunk, enter, exit, startChild } from './tracer-channel.ts'

let child: Child
beforeAll(async () => {
  child = await startChild()
})
afterAll(() => child.stop())

test('opcodes are counted by name', async () => {
  const steps = [{ op: 0x60 }, { op: 0x60 }, { op: 0x01 }, { op: 0x00 }]
  const { result } = await child.run({
    source:
      '{counts:{},step:function(log){var k=log.op.toString();this.counts[k]=(this.counts[k]||0)+1},fault:function(){},result:function(){return this.counts}}',
    chunks: (fields) => [chunk(fields, steps, [enter(0), exit(4)])],
  })
  expect(result).toEqual({ PUSH1: 2, ADD: 1, STOP: 1 })
})
