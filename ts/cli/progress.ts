// Shows the progress of a job: a bar that is redrawn on a terminal, a line now and then elsewhere.
import type { JobProgress, RunningJob } from '../core/jobs.ts'
import type { Terminal } from './command.ts'

/** How often the bar is drawn, in milliseconds. */
const DRAW_EVERY_MS = 100

/** How often a line is written where there is no terminal, in milliseconds. */
const LINE_EVERY_MS = 5000

const BAR_CELLS = 24

/** Milliseconds as `1h02m`, `3m07s` or `12s`. */
export function duration(ms: number): string {
  const s = Math.round(ms / 1000)
  const two = (n: number): string => String(n).padStart(2, '0')
  if (s < 60) return `${s}s`
  return s < 3600 ? `${Math.floor(s / 60)}m${two(s % 60)}s` : `${Math.floor(s / 3600)}h${two(Math.floor((s % 3600) / 60))}m`
}

/** Blocks and gas a second over some milliseconds. */
export function rates(blocks: number, gas: number, ms: number): string {
  const seconds = Math.max(ms, 1) / 1000
  return `${(blocks / seconds).toFixed(1)} blocks/s, ${(gas / seconds / 1e6).toFixed(1)} Mgas/s`
}

/** A bar (on a terminal), the finished share, `what` and the time left, `ms` after the start. */
export function progressBar(done: number, total: number, ms: number, bar: boolean, what: string): string {
  const share = total > 0 ? Math.min(1, done / total) : 0
  const filled = Math.round(share * BAR_CELLS)
  const drawn = bar ? `[${'#'.repeat(filled)}${'.'.repeat(BAR_CELLS - filled)}] ` : ''
  const left = share > 0 && share < 1 ? `, ${duration((ms / share) * (1 - share))} left` : ''
  return `${drawn}${(share * 100).toFixed(1)} %, ${what}${left}`
}

/** One line of progress of a job on blocks, `ms` after the start. */
export function progressLine({ blocks, gas, done, total, height }: JobProgress, ms: number, bar: boolean): string {
  return progressBar(done, total, ms, bar, `${height === null ? '' : `block ${height}, `}${rates(blocks, gas, ms)}`)
}

/** One line of progress of a job whose size is not known, because its input is a stream. */
export const streamLine = ({ blocks, gas, height }: JobProgress, ms: number): string =>
  `${height === null ? '' : `block ${height}, `}${rates(blocks, gas, ms)}`

/** Shows a job's progress until it ends; gives its result on. */
export async function watchJob<T>(job: RunningJob<T>, work: Promise<T>, terminal: Terminal, lineOf = progressLine): Promise<T> {
  const began = Date.now()
  const show = (): void => {
    const line = lineOf(job.progress(), Date.now() - began, terminal.interactive)
    terminal.err(terminal.interactive ? `\r\x1b[K${line}` : `${line}\n`)
  }
  const timer = setInterval(show, terminal.interactive ? DRAW_EVERY_MS : LINE_EVERY_MS)
  try {
    return await work
  } finally {
    clearInterval(timer)
    if (terminal.interactive) terminal.err('\r\x1b[K')
  }
}
