// Invalid arguments are errors of one class, with a code; every failure of the core has a class.
import { describe, expect, it } from 'vitest'
import { CORE_ERROR_KINDS, CoreError } from '../../ts/core/error.ts'
import type { Core } from '../../ts/core/port.ts'
import { ArgumentError, HearthError, hearthError, InternalError, StoreError } from '../../ts/script/errors.ts'
import { blockRef } from '../../ts/script/reading/chain.ts'
import { Tracer } from '../../ts/script/trace/trace.ts'
import { bigintOf, dataOf, quantityOf } from '../../ts/script/values.ts'
import { fakeCore, PLAIN_RULES } from './fake-core.ts'

const HASH = `0x${'ab'.repeat(32)}` as const

/** The error of a call that must throw or reject. */
async function errorOf(work: () => unknown): Promise<unknown> {
  try {
    await work()
  } catch (e) {
    return e
  }
  return undefined
}

const trace = (target: unknown): Promise<unknown> =>
  new Tracer(fakeCore({}), PLAIN_RULES.trace).result(target as `0x${string}`, 'callTracer', {})

describe('an argument that does not fit', () => {
  it.each([
    ['a short hash of a transaction', () => trace('0x12'), 'a transaction takes 32 bytes, not 1'],
    ['bytes of a transaction', () => trace(new Uint8Array(31)), 'a transaction takes 32 bytes, not 31'],
    [
      'a tag as a transaction',
      () => trace('latest'),
      'a transaction is given by its hash, not "latest"; a block is given as { block: "latest" }',
    ],
    ['an index', () => trace({ block: 1n, index: -1 }), 'an index takes a whole number that is not negative, not -1'],
    ['a short hash of a block', () => blockRef(HASH.slice(0, -2) as `0x${string}`), 'the hash of a block takes 32 bytes, not 31'],
    ['a long hash of a block', () => blockRef(`${HASH}00`), 'the hash of a block takes 32 bytes, not 33'],
    [
      'a tag that does not exist',
      () => blockRef('newest' as 'latest'),
      'a block takes a height, a hash or one of latest, earliest, safe, finalized, pending, not "newest"',
    ],
    ['a negative height', () => blockRef(-1n), 'a block takes a whole number that is not negative, not -1n'],
    ['an address', () => dataOf('0x12', 'an address', 20), 'an address takes 20 bytes, not 1'],
    ['text', () => dataOf('12' as `0x${string}`, 'data'), 'data takes 0x text or a Uint8Array, not "12"'],
    ['a fraction', () => quantityOf(1.5, 'gas'), 'gas takes a whole number that is not negative, not 1.5'],
    ['an empty quantity', () => bigintOf('0x', 'nonce'), 'nonce takes a whole number that is not negative, not "0x"'],
  ])('%s', async (_, work, message) => {
    const error = await errorOf(work)
    expect(error).toBeInstanceOf(ArgumentError)
    expect(error).toMatchObject({ name: 'ArgumentError', code: 'invalid_params', message })
  })

  it('blocks that fit are taken as they are', () => {
    expect(blockRef(HASH)).toEqual({ blockHash: HASH })
    expect([blockRef('0x1b'), blockRef(27n), blockRef('safe')]).toEqual(['0x1b', '0x1b', 'safe'])
    expect(blockRef('0xffffffffffffffff')).toBe('0xffffffffffffffff')
  })
})

it('options of functions are passed on as they are', async () => {
  const config = { least: 5, ratio: 0.5, from: -1 }
  const asked: unknown[] = []
  const core: Core = {
    ...fakeCore({}),
    scripted: (_, args) => {
      asked.push((args as { config: unknown }).config)
      throw new Error('this is enough')
    },
  }
  const traced = new Tracer(core, PLAIN_RULES.trace).withHooks(HASH, { result: () => 0 }, { config })
  await expect(traced).rejects.toThrow('this is enough')
  expect(asked).toEqual([expect.objectContaining({ tracerConfig: config })])
})

describe('a failure of the core', () => {
  it.each(CORE_ERROR_KINDS)('%s has a class', (kind) => {
    const error = hearthError(new CoreError(kind, 'why', '0x'))
    expect(error).toBeInstanceOf(HearthError)
    expect(error).toMatchObject({ code: kind, message: 'why', data: '0x' })
  })

  it('of a store is no defect of the core', () => {
    const [store, internal] = (['store', 'internal'] as const).map((kind) => hearthError(new CoreError(kind, '')))
    expect([store instanceof StoreError, store instanceof InternalError]).toEqual([true, false])
    expect([internal instanceof StoreError, internal instanceof InternalError]).toEqual([false, true])
  })
})
