// The core's watchdog of this process: a thread that ends it after SIGTERM or SIGINT if the main
// thread does not, and reports stalls of the event loop.
import * as native from '../../native/index.js'

/** What the watchdog is started with. */
export interface WatchdogOptions {
  /** Names of what this thread may begin, by number; the first one is that of nothing. */
  readonly names: readonly string[]
  /** Time between two beats, in milliseconds. */
  readonly beatMs: number
  /** Time after a signal in which the ordinary stop ends every answer, in milliseconds. */
  readonly stopMs: number
  /** Exit code of a process that the watchdog ends. */
  readonly cutShortCode: number
  /** Exit code of a process that a second signal ends. */
  readonly stoppedCode: number
  readonly format: 'json' | 'text'
  /** Lines that matter less are not written. */
  readonly level: 'silent' | 'error' | 'warn' | 'info' | 'debug'
}

/**
 * Positions of the numbers that this thread writes: `began` since the last beat, `before` what had
 * begun before it.
 */
export const CELL = { beats: 0, began: 1, before: 2, phase: 3 } as const

/** What `phase` says; 0 while the node opens. */
export const PHASE = { serving: 1, closing: 2, closed: 3 } as const

/**
 * Starts the watchdog; returns the numbers that this thread writes to. Throws if there can be none:
 * the process has one, or SIGTERM and SIGINT have no handlers yet. These must stay installed.
 */
export const startWatchdog = (options: WatchdogOptions): Uint32Array => native.startWatchdog(JSON.stringify(options))
