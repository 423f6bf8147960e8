// Kinds with a unit in their text: durations as Go writes them, and sizes in bytes.
import { integer, type Kind, Refused } from './parsers.ts'

const MS = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const
const PIECE = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g
const WHOLE = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/

/** Relative error of a sum of a few products of doubles, and more. */
const ROUNDING = 1e-12

/** Milliseconds of a Go duration without sign; undefined where it does not read. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  if (!WHOLE.test(text)) return undefined
  let ms = 0
  for (const [, number, unit] of text.matchAll(PIECE)) ms += Number(number) * MS[unit as keyof typeof MS]
  // 1.1h is a whole number of milliseconds, though not as a product of doubles.
  const whole = Math.round(ms)
  return Math.abs(ms - whole) < whole * ROUNDING ? whole : ms
}

/** Milliseconds as a Go duration in the largest unit that leaves a whole number. */
export function formatDuration(ms: number): string {
  for (const unit of ['h', 'm', 's'] as const) if (ms > 0 && ms % MS[unit] === 0) return `${ms / MS[unit]}${unit}`
  return `${ms}ms`
}

/** Whole milliseconds from `min` to `max`, written as a Go duration. */
export function duration(min: number, max: number): Kind<number> {
  const takes = `a duration such as 250ms, 5s or 1m30s, from ${formatDuration(min)} to ${formatDuration(max)}`
  const check = (value: unknown): number => {
    const ms = typeof value === 'string' ? parseDuration(value) : undefined
    if (ms === undefined || !Number.isSafeInteger(ms) || ms < min || ms > max) {
      throw new Refused(`takes ${takes}, not ${JSON.stringify(value)}${typeof value === 'number' ? ': its unit is missing' : ''}`)
    }
    return ms
  }
  return { takes, check, parse: check, plain: formatDuration }
}

const BYTES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const

/** Bytes in the largest unit that leaves a whole number: text, or a number where that is bytes. */
export function formatBytes(bytes: number): string | number {
  for (const unit of ['TiB', 'GiB', 'MiB', 'KiB'] as const)
    if (bytes > 0 && bytes % BYTES[unit] === 0) return `${bytes / BYTES[unit]} ${unit}`
  return bytes
}

/** A number of bytes from `min` to `max`, plain or with a unit of two's powers. */
export function bytes(min: number, max: number): Kind<number> {
  const plain = integer(min, max)
  const takes = `a number of bytes or a size such as 64 MiB, from ${formatBytes(min)} to ${formatBytes(max)}`
  const check = (value: unknown): number => {
    const [, digits, unit] = (typeof value === 'string' && /^(\d[\d_]*)\s*(B|KiB|MiB|GiB|TiB)?$/.exec(value)) || []
    const size = digits === undefined ? value : Number(digits.replaceAll('_', '')) * BYTES[(unit ?? 'B') as keyof typeof BYTES]
    try {
      return plain.check(size)
    } catch {
      throw new Refused(`takes ${takes}, not ${typeof value === 'string' ? JSON.stringify(value) : String(value)}`)
    }
  }
  return { takes, check, parse: check, plain: formatBytes }
}
