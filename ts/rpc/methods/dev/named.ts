// One thing that a development chain does, under each of the names by which tools call it.
import type { Core, Operations } from '../../../core/port.ts'
import { type HandlerContext, json, type Method, method, type Param, type Result } from '../../method.ts'

type Values<P extends readonly Param<unknown>[]> = { -readonly [I in keyof P]: P[I] extends Param<infer T> ? T : never }

/** Defines a method under several names. They are in order, since most change the chain. */
export function named<const P extends readonly Param<unknown>[]>(
  names: string,
  doc: string,
  result: string,
  params: P,
  handle: (context: HandlerContext, ...args: Values<P>) => Promise<Result> | Result,
  cost: Method['cost'] = 'write',
): Method[] {
  return names.split(' ').map((name) => method({ name, doc, result, cost, params, handle }))
}

/** Does something and answers with something else than the core does. */
export async function answering<Op extends keyof Operations>(core: Core, op: Op, args: Operations[Op], answer: unknown): Promise<Result> {
  await core.request(op, args)
  return json(answer)
}
