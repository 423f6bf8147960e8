// Tracers as objects of functions: the text that goes to the child, and what it answers.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scriptCommand } from '../../dist/tracer/command.js'
import { scriptOf } from '../../ts/tracer/script.ts'
import { type Child, chunk, enter, exit, startChild } from './tracer-channel.ts'

describe.skipIf('unavailable' in scriptCommand())('tracers as objects', () => {
  let child: Child
  beforeAll(async () => {
    child = await startChild()
  })
  afterAll(() => child.stop())

  it('functions of every form run with their state', async () => {
    const source = scriptOf(
      {
        step(log) {
          if (this.seen.length < this.limit) this.seen.push(log.op.toString())
        },
        enter: () => undefined,
        exit: () => undefined,
        result: function () {
          return { seen: this.seen, deep: { a: [1, null] } }
        },
      },
      { seen: [] as string[], limit: 2 },
    )
    const steps = [{ op: 0x60 }, { op: 0x50 }, { op: 0x00 }]
    const { result } = await child.run({ source, chunks: (fields) => [chunk(fields, steps, [enter(0), exit(3)])] })
    expect(result).toEqual({ seen: ['PUSH1', 'POP'], deep: { a: [1, null] } })
  })
})
