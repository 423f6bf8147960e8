// Values of scripts: what is given and taken, and how packed bytes are read.
import { describe, expect, it } from 'vitest'
import { CORE_ERROR_KINDS, CoreError } from '../../ts/core/error.ts'
import { within } from '../../ts/script/abort-options.ts'
import { HearthError, type HomeInUseError, hearthError, RevertError } from '../../ts/script/errors.ts'
import { Packed } from '../../ts/script/packed.ts'
import { blockRef } from '../../ts/script/reading/chain.ts'
import { type Rows, readAhead } from '../../ts/script/reading/rows.ts'
import { bigintOf, dataOf, quantityOf, wire } from '../../ts/script/values.ts'

describe('values', () => {
  it('quantities are whole and not negative, in any of their forms', () => {
    expect([quantityOf(10n, 'n'), quantityOf(255, 'n'), quantityOf('0x0f', 'n')]).toEqual(['0xa', '0xff', '0xf'])
    for (const bad of [-1n, -1, 1.5, 2 ** 53, '0x', '12' as '0x12', Number.NaN] as const) {
      expect(() => bigintOf(bad, 'nonce')).toThrow(/nonce takes a whole number that is not negative, not/)
    }
  })

  it('data has whole bytes, and as many as there must be', () => {
    expect(dataOf(new Uint8Array([1, 171]), 'x')).toBe('0x01ab')
    expect(() => dataOf('0x123', 'x')).toThrow('x takes 0x text or a Uint8Array, not "0x123"')
    expect(() => dataOf('0x12', 'an address', 20)).toThrow('an address takes 20 bytes, not 1')
  })

  it('JSON-RPC values have no bigint, bytes or undefined', () => {
    const given = { value: 1n, gas: 21_000, data: new Uint8Array([255]), from: undefined, list: [2n, null, 'latest', true] }
    expect(wire(given)).toEqual({ value: '0x1', gas: '0x5208', data: '0xff', list: ['0x2', null, 'latest', true] })
  })

  it('a block is a tag, a height or a hash', () => {
    const hash = `0x${'ab'.repeat(32)}` as const
    expect([blockRef('latest'), blockRef(7n), blockRef('0x7'), blockRef(hash)]).toEqual(['latest', '0x7', '0x7', { blockHash: hash }])
  })
})

describe('packed bytes', () => {
  const word = (low: bigint, high = 0n): Buffer => Buffer.from(((high << 192n) | low).toString(16).padStart(64, '0'), 'hex')

  it('are read in their order, in either form', () => {
    const bytes = Buffer.concat([
      Buffer.from([7, 1, 2, 0, 0, 0, 0xaa, 0xbb]),
      Buffer.from([5, 0, 0, 0, 0, 0, 0, 0]),
      word(2n ** 64n - 1n),
      word(1n, 1n),
      Buffer.from([0]),
    ])
    const hex = new Packed(bytes, 'hex')
    expect([hex.byte(), hex.flag(), hex.sized(), hex.u64(), hex.word(), hex.word(), hex.optional(() => hex.u64()), hex.isOver()]).toEqual([
      7,
      true,
      '0xaabb',
      5n,
      2n ** 64n - 1n,
      (1n << 192n) + 1n,
      undefined,
      true,
    ])
    const raw = new Packed(bytes.subarray(2), 'bytes')
    const part = raw.sized()
    expect(Array.from(part)).toEqual([0xaa, 0xbb])
    // A view of the batch, not a copy.
    expect(part.buffer).toBe(bytes.buffer)
  })
})

describe('batches', () => {
  const counting = (batches: number): { rows: Rows<number>; asked: number[] } => {
    const asked: number[] = []
    const rows = readAhead(
      async () => 0,
      async (from: number) => {
        asked.push(from)
        return { items: from % 2 === 0 ? [from, from + 0.5] : [], next: from + 1 < batches ? from + 1 : undefined }
      },
      {},
    )
    return { rows, asked }
  }

  it('give every item once, one batch ahead and no more', async () => {
    const { rows, asked } = counting(4)
    const items = rows[Symbol.asyncIterator]()
    expect(await items.next()).toEqual({ done: false, value: 0 })
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(asked).toEqual([0, 1])
    const rest: number[] = []
    for (let item = await items.next(); item.done !== true; item = await items.next()) rest.push(item.value)
    expect(rest).toEqual([0.5, 2, 2.5])
    expect(asked).toEqual([0, 1, 2, 3])
    expect(await rows.toArray()).toEqual([0, 0.5, 2, 2.5])
  })

  it('stop being asked for when the loop is left', async () => {
    const { rows, asked } = counting(1000)
    for await (const item of rows) if (item >= 2) break
    const seen = asked.length
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(asked).toHaveLength(seen)
    expect(seen).toBeLessThan(6)
  })

  it('reject with what went wrong, or with the reason of a signal', async () => {
    const broken = readAhead(
      async () => 0,
      async () => {
        throw new Error('no')
      },
      {},
    )
    await expect(broken.toArray()).rejects.toThrow('no')
    const aborted = readAhead(
      async () => 0,
      async () => ({ items: [1], next: 0 }),
      { signal: AbortSignal.abort(new Error('enough')) },
    )
    await expect(aborted.toArray()).rejects.toThrow('enough')
  })
})

describe('patience', () => {
  it('ends work once, by a signal or by time', async () => {
    let cancelled = 0
    const never = (): Promise<never> => new Promise(() => undefined)
    const cancel = (): void => {
      cancelled++
    }
    await expect(within({ timeout: 5 }, never, cancel)).rejects.toMatchObject({ name: 'TimeoutError', code: 'timeout' })
    const control = new AbortController()
    setTimeout(() => control.abort('reason'), 5)
    await expect(within({ signal: control.signal, timeout: 60_000 }, never, cancel)).rejects.toBe('reason')
    expect(cancelled).toBe(2)
    await expect(within({ timeout: 1000 }, async () => 4, cancel)).resolves.toBe(4)
    expect(cancelled).toBe(2)
  })
})

describe('errors', () => {
  it('every kind of the core has a class with code and cause', () => {
    for (const kind of CORE_ERROR_KINDS) {
      const cause = new CoreError(kind, 'why', '0x01')
      expect(hearthError(cause)).toMatchObject({ code: kind, message: 'why', data: '0x01', cause })
      expect(hearthError(cause)).toBeInstanceOf(HearthError)
    }
    expect(hearthError(new CoreError('execution_reverted', 'x'))).toBeInstanceOf(RevertError)
    expect((hearthError(new CoreError('home_in_use', 'x', '17')) as HomeInUseError).pid).toBe(17)
    expect(hearthError(new CoreError('home_in_use', 'x'))).toMatchObject({ pid: undefined })
    const other = new Error('other')
    expect(hearthError(other)).toBe(other)
  })
})
