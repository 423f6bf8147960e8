// The child process of JavaScript tracers, seen from its parent: its answer to each message, and
// what outlives a transaction.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scriptCommand } from '../../dist/tracer/command.js'
import { type Child, chunk, enter, exit, startChild } from './tracer-channel.ts'

const DONE = 16
const COUNT = '{n:0,step:function(){this.n++},fault:function(){},result:function(){return this.n}}'
const STEPS = [{ op: 0x60 }, { op: 0x50 }, { op: 0x00 }]

describe.skipIf('unavailable' in scriptCommand())('the child process', () => {
  let child: Child
  beforeAll(async () => {
    child = await startChild()
  })
  afterAll(() => child.stop())

  const counted = (request: number) => child.run({ source: COUNT, request, chunks: (f) => [chunk(f, STEPS, [enter(0), exit(3)])] })

  it('requests the fields of the text, or takes given ones', async () => {
    expect(await counted(1)).toEqual({ result: 3, json: '3', reads: 0, fields: 1 })
    expect(await child.run({ source: COUNT, request: 1, fields: 1, chunks: (f) => [chunk(f, STEPS, [enter(0), exit(3)])] })).toMatchObject({
      result: 3,
    })
    const source =
      '{step:function(log){log.memory.length();log.stack.peek(0)},fault:function(){},enter:function(){},exit:function(){},result:function(){}}'
    // step, stack, length of memory without its contents, frames
    expect((await child.run({ source, chunks: (f) => [chunk(f, [], [])] })).fields).toBe(1 | (1 << 7) | (1 << 9) | (1 << 12))
    expect((await child.run({ source: '{fault:function(){},result:function(){return 1}}' })).fields).toBe(0)
  })

  it('answers DONE to a chunk that requests it, and to STOP', async () => {
    const begin = (source: string) =>
      child.send(
        1,
        Buffer.from(
          JSON.stringify({
            source,
            name: null,
            config: '{}',
            fields: 1 | (1 << 13),
            rules: { precompiles: [] },
            limits: { memoryBytes: 1 << 28, outputBytes: 1000 },
            request: 5,
          }),
        ),
      )
    begin(COUNT)
    child.send(2, chunk(1, STEPS, [enter(0)], false))
    child.send(2, chunk(1, STEPS, [], true))
    expect((await child.receive())?.kind).toBe(DONE)
    child.send(6)
    expect((await child.receive())?.kind).toBe(DONE)
    child.send(6)
    expect((await child.receive())?.kind).toBe(DONE)
    // STOP in place of the answer to a read.
    begin('{step:function(log,db){db.exists([1])},fault:function(){},result:function(){}}')
    child.send(2, chunk(1, STEPS, [enter(0)], true))
    expect((await child.receive())?.kind).toBe(11)
    child.send(6)
    expect((await child.receive())?.kind).toBe(DONE)
    expect((await counted(6)).result).toBe(3)
  })

  it('takes up the next transaction after each way to fail', async () => {
    const failing = [
      '{',
      '{result:1}',
      '{step:function(){throw "x"},fault:function(){},result:function(){}}',
      '{fault:function(){},result:function(){throw "x"}}',
    ]
    for (const source of failing) {
      expect(await child.run({ source, request: 7, chunks: (f) => [chunk(f, STEPS, [enter(0), exit(3)])] })).toHaveProperty('failed')
      expect((await counted(7)).result).toBe(3)
    }
    expect(await child.run({ name: 'noSuchTracer', request: 8 })).toMatchObject({ failed: 'no script is named noSuchTracer' })
    expect((await child.run({ name: 'opcountTracer', request: 8, chunks: (f) => [chunk(f, STEPS, [enter(0), exit(3)])] })).result).toBe(3)
  })

  // From Node 24 on isolated-vm lets the heap grow by a GiB at a time and ends no script for it:
  // the core ends the process there, with the same message, which test/e2e/js-attacks.test.ts
  // shows.
  const endsScripts = Number(process.versions.node.split('.')[0]) < 24
  it.skipIf(!endsScripts)('a script that takes all memory only loses its isolate', async () => {
    const hog = '{fault:function(){},result:function(){var a=[];for(;;)a.push(new Array(1000).fill(1))}}'
    expect(await child.run({ source: hog, request: 9, limits: { memoryBytes: 32 << 20 } })).toMatchObject({
      failed: 'the tracer ran out of memory (evm.trace_js_memory_bytes)',
    })
    expect((await counted(9)).result).toBe(3)
    expect((await counted(10)).result).toBe(3)
  })

  it('refuses an answer over the limit, counted in bytes', async () => {
    const answer = (text: string) => `{fault:function(){},result:function(){return ${text}}}`
    const limits = { outputBytes: 1000 }
    expect((await child.run({ source: answer('"x".repeat(998)'), limits })).json).toHaveLength(1000)
    expect(await child.run({ source: answer('"x".repeat(999)'), limits })).toMatchObject({
      failed: 'the result of the tracer has more than 1000 bytes (evm.trace_js_output_bytes)',
    })
    expect(await child.run({ source: answer('"é".repeat(600)'), limits })).toHaveProperty('failed')
  })

  it('leaves when its parent is gone', async () => {
    const orphan = await startChild()
    const ended = new Promise((resolve) => orphan.process.once('exit', resolve))
    orphan.hangUp()
    // The core forbids io_uring before Node begins, and libuv uses epoll. Here Node 22 and 24 have
    // made a ring, which the filter refuses later: libuv aborts, and the process ends all the same.
    expect([0, null]).toContain(await ended)
  })
})
