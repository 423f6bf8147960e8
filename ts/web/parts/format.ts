// Numbers and times as they are shown.
import { ether, grouped } from '../../explore/index.ts'

export { ether, grouped }

export const number = (hex: string | number | null | undefined): number => Number(hex ?? 0)

/** Part of a whole in percent, with one digit. */
export const percent = (part: number, whole: number): string => (whole === 0 ? '0 %' : `${((100 * part) / whole).toFixed(1)} %`)

const KIB = 1024

/** Bytes in binary units. */
export function bytes(n: number): string {
  if (n < KIB) return `${n} B`
  const [size, unit] = n < KIB ** 2 ? [n / KIB, 'KiB'] : n < KIB ** 3 ? [n / KIB ** 2, 'MiB'] : [n / KIB ** 3, 'GiB']
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`
}

/** A time in few words. */
export function duration(ms: number): string {
  const s = Math.round(ms / 1000)
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} min`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
  return `${grouped(Math.floor(s / 86_400))} days`
}

/** How long ago a timestamp in seconds was; in years beyond one. */
export function age(timestamp: number, now = Date.now()): string {
  const ms = now - timestamp * 1000
  if (ms < 1000) return 'now'
  const days = ms / 86_400_000
  return days > 730 ? `${Math.floor(days / 365.25)} years ago` : `${duration(ms)} ago`
}

/** A timestamp in seconds; one that is no date, as a development chain may have, as its number. */
export function time(timestamp: number): string {
  const date = new Date(timestamp * 1000)
  return Number.isNaN(date.getTime()) ? `${timestamp} s` : date.toISOString().replace('T', ' ').replace('.000Z', ' UTC')
}

/** Wei in gwei. */
export function gwei(wei: bigint): string {
  const [whole, rest] = [wei / 1_000_000_000n, wei % 1_000_000_000n]
  const digits = rest.toString().padStart(9, '0').replace(/0+$/, '')
  return `${whole}${digits === '' ? '' : `.${digits}`} gwei`
}

/** An amount of a token with its decimals. */
export function amount(value: bigint, decimals: number): string {
  const unit = 10n ** BigInt(decimals)
  const digits = (value % unit).toString().padStart(decimals, '0').replace(/0+$/, '')
  return `${grouped2(value / unit)}${digits === '' || decimals === 0 ? '' : `.${digits}`}`
}

const grouped2 = (n: bigint): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',')

/** Whole numbers of any size in groups. */
export const groupedBig = grouped2

export const byteCount = (hex: string): number => Math.max(0, (hex.length - 2) / 2)
