// How a request ended, for metrics: one number for each pair of error class and class of the
// JSON-RPC code.
import { ERROR_CLASSES, type ErrorClass, type RpcError } from './errors.ts'

/**
 * Values of the label `jsonrpc_code`: the ranges of the JSON-RPC 2.0 specification, everything
 * else, and no code.
 */
export const CODE_CLASSES = ['', 'spec', 'server', 'other'] as const

/** A value of the label `jsonrpc_code`. */
export type CodeClass = (typeof CODE_CLASSES)[number]

/** Labels of one way to end. */
export interface Outcome {
  readonly success: boolean
  /** Empty on success. */
  readonly errorClass: ErrorClass | ''
  readonly codeClass: CodeClass
}

const CLASSES = Object.keys(ERROR_CLASSES) as ErrorClass[]

/** Every way to end; the index is the number that is recorded. */
export const OUTCOMES: readonly Outcome[] = [
  { success: true, errorClass: '', codeClass: '' },
  ...CLASSES.flatMap((errorClass) => CODE_CLASSES.map((codeClass) => ({ success: false, errorClass, codeClass }))),
]

/** The request was answered with a result. */
export const SUCCESS = 0

/** The class of a code: -32700..-32600 are of the specification, -32099..-32000 of the server. */
export function codeClass(code: number): CodeClass {
  if (code >= -32_700 && code <= -32_600) return 'spec'
  return code >= -32_099 && code <= -32_000 ? 'server' : 'other'
}

const numberOf = (errorClass: ErrorClass, code: CodeClass): number =>
  1 + CLASSES.indexOf(errorClass) * CODE_CLASSES.length + CODE_CLASSES.indexOf(code)

/** The outcome of a request that was answered with an error. */
export const outcomeOf = ({ errorClass, code }: Pick<RpcError, 'errorClass' | 'code'>): number =>
  numberOf(errorClass, ERROR_CLASSES[errorClass].code === 'none' ? '' : codeClass(code))

/** The answer was cut off: no code reached the client. */
export const CUT_OFF = numberOf('unknown', '')
