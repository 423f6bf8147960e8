// docs/rpc.md: every method has types for its parameters and its result, and every example is of a
// method.
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import type { Example } from '../../ts/rpc/page.ts'
import { typeOf } from '../../ts/rpc/param-types.ts'
import { METHODS } from '../../ts/rpc/table.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const examples = ['rpc.json', 'rpc-subscriptions.json', 'rpc-engine.json'].flatMap(
  (file) => JSON.parse(fs.readFileSync(path.join(ROOT, 'docs/examples', file), 'utf8')) as readonly Example[],
)

it('every parameter has a type', () => {
  const lacking = METHODS.flatMap((method) =>
    method.params.filter((param) => typeOf(method, param) === undefined).map(({ name }) => `${method.name}.${name}`),
  )
  expect(lacking).toEqual([])
})

it('every method has a type for its result', () => {
  expect(METHODS.filter(({ result }) => !/^\S.*[^.]$/.test(result)).map(({ name }) => name)).toEqual([])
})

it('every example has the parameters of its method', () => {
  expect(new Set(examples.map(({ method }) => method)).size).toBe(examples.length)
  for (const { method, params } of examples) {
    const taken = METHODS.find(({ name }) => name === method)?.params
    expect(taken, method).toBeDefined()
    expect(params.length, method).toBeLessThanOrEqual(taken?.length ?? 0)
    expect(params.length, method).toBeGreaterThanOrEqual(taken?.filter(({ required }) => required).length ?? 0)
  }
})

it('every method has an example, and no other name has', () => {
  expect(METHODS.map(({ name }) => name).sort()).toEqual(examples.map(({ method }) => method).sort())
})
