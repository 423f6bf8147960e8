// Methods that only the provider of a node in this process has: work that no socket may request.
import type { BakeReport } from '../core/bake.ts'
import { BadValue, type Codec } from './codec/codec.ts'
import { decodeParams, optional, type Param } from './method.ts'

/** How long a call may take. */
interface AbortOptions {
  readonly signal?: AbortSignal | undefined
  /** In milliseconds. */
  readonly timeout?: number | undefined
}

/** The work behind the methods. */
export interface OwnWork {
  /** Bakes a range of heights. */
  readonly bake: (
    heights: { readonly from: number | undefined; readonly to: number | undefined },
    abort: AbortOptions,
  ) => Promise<BakeReport>
}

/** A method of the provider. */
export interface OwnMethod {
  readonly name: string
  readonly doc: string
  readonly params: readonly Param<unknown>[]
  /** Checks the parameters and does the work; throws `RpcError` -32602 where they do not fit. */
  readonly call: (work: OwnWork, params: unknown, abort: AbortOptions) => Promise<unknown>
}

/** A height: a whole number that is not negative. */
const height: Codec<number> = (value) => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new BadValue('a height is a whole number that is not negative')
  }
  return value
}

const BAKE_PARAMS = [optional('from', height), optional('to', height)] as const

/** Every method of the provider that is no method of JSON-RPC over a socket. */
export const OWN_METHODS: readonly OwnMethod[] = [
  {
    name: 'bake_blocks',
    doc: 'Bakes the traces of a range of heights, both included; without them from the first block to the head. The node must have been opened with evm.trace_bake_enabled.',
    params: BAKE_PARAMS,
    call: (work, params, abort) => {
      const [from, to] = decodeParams(BAKE_PARAMS, params) as [number | undefined, number | undefined]
      return work.bake({ from, to }, abort)
    },
  },
]

const byName: ReadonlyMap<string, OwnMethod> = new Map(OWN_METHODS.map((m) => [m.name, m]))

/** The method of this name; undefined where the provider has none of its own. */
export const ownMethod = (name: string): OwnMethod | undefined => byName.get(name)
