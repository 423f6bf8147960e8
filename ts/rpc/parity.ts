// The configuration of parityTracer for the methods of the namespace.
import { underRules } from './codec/index.ts'
import type { HandlerContext } from './method.ts'

/** Options of parityTracer, by name. */
export interface ParityOptions {
  readonly types?: readonly string[]
  readonly form?: 'replay' | 'localized' | 'operations' | 'calls' | 'failure'
  readonly traceAddress?: readonly number[]
  readonly elements?: 'named' | 'plain' | 'joined'
  readonly withHash?: boolean
}

/** The configuration of a trace in the form of the namespace, under the rules of the node. */
export const parity = ({ trace }: HandlerContext, tracerConfig: ParityOptions): Record<string, unknown> =>
  underRules({ tracer: 'parityTracer', tracerConfig }, trace)
