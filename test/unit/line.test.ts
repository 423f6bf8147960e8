// Requests of a batch that keep their order on their way to the core.
import { describe, expect, it } from 'vitest'
import { Line, type RunInOrder } from '../../ts/core/line.ts'

/** Runs requests when released, and records which went together. */
function runner(): { readonly run: RunInOrder; readonly together: string[][]; readonly release: () => void } {
  const together: string[][] = []
  let waiting: (() => void)[] = []
  const run: RunInOrder = (given) => {
    const requests = given.map(String)
    together.push(requests)
    return requests.map(
      (request) =>
        new Promise((resolve, reject) => {
          waiting.push(() => (request.startsWith('bad') ? reject(new Error(request)) : resolve(Buffer.from(request))))
        }),
    )
  }
  const release = (): void => {
    const now = waiting
    waiting = []
    for (const settle of now) settle()
  }
  return { run, together, release }
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a line', () => {
  it('starts together what comes while others are answered', async () => {
    const { run, together, release } = runner()
    const line = new Line()
    const answers = ['a', 'b'].map((request) => line.add(request, run))
    await tick()
    answers.push(...['c', 'bad d', 'e'].map((request) => line.add(request, run)))
    await tick()
    expect(together).toEqual([['a', 'b']])
    release()
    await tick()
    expect(together).toEqual([
      ['a', 'b'],
      ['c', 'bad d', 'e'],
    ])
    release()
    const settled = await Promise.allSettled(answers)
    expect(settled.map((one) => (one.status === 'fulfilled' ? String(one.value) : String(one.reason.message)))).toEqual([
      'a',
      'b',
      'c',
      'bad d',
      'e',
    ])
    const again = line.add('f', run)
    await tick()
    release()
    expect(String(await again)).toBe('f')
    expect(together[2]).toEqual(['f'])
  })

  it('goes on behind requests that cannot be started', async () => {
    const line = new Line()
    const refused: RunInOrder = () => {
      throw new Error('closed')
    }
    const answers = ['a', 'b'].map((request) => line.add(request, refused))
    const settled = await Promise.allSettled(answers)
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const { run, release } = runner()
    const next = line.add('c', run)
    await tick()
    release()
    expect(String(await next)).toBe('c')
  })
})
