// How go-ethereum's engine turns arguments into Go's integers, and how it prints them.
import { asUint64, finite, Native, Text, trunc } from './primordials.ts'

const INT64_EDGE = 2 ** 63
const EXACT_EDGE = 2 ** 53

/**
 * A script's value as an int64: nothing and not-a-number are 0, fractions are cut, what does not
 * fit is the smallest one.
 */
export function toInt64(value: unknown): number {
  if (typeof value === 'number' && (value | 0) === value) return value
  if (value === undefined || value === null) return 0
  const n = +(value as number)
  if (!finite(n)) return 0
  const whole = trunc(n)
  return whole >= INT64_EDGE || whole < -INT64_EDGE ? -INT64_EDGE : whole
}

/** A script's value as a uint64. */
export const toUint64 = (value: unknown): bigint => asUint64(toInt64(value))

/** An int64 in decimal. */
export const decimal = (n: number): string => (n > EXACT_EDGE || n < -EXACT_EDGE ? Text(Native(n)) : Text(n))
