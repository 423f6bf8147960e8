// Signals of the main thread to the watchdog: heartbeats of its event loop, the work that it
// started last, and the phase of the node.
import { CELL, PHASE, startWatchdog, type WatchdogOptions } from '../core/watchdog.ts'
import { BEGUN_NAMES } from '../rpc/meter.ts'
import { EXIT } from './exit.ts'

/** Time between two beats, in milliseconds. */
const BEAT_MS = 250

/** The signals that the main thread sends to the watchdog. */
export interface LoopSignals {
  /** Its only number is to be set to what is begun, by the positions of `BEGUN_NAMES`. */
  readonly begun: Uint32Array
  /** The node serves: stalls are reported from now on. */
  serving(): void
  /** All responses have ended: the stores may take as long as they need to close. */
  closing(): void
  /** The stores are closed: the process is about to exit. */
  closed(): void
}

/** Signals of a process without a watchdog. */
const UNWATCHED: LoopSignals = {
  begun: new Uint32Array(1),
  serving: () => undefined,
  closing: () => undefined,
  closed: () => undefined,
}

/** Records a heartbeat. The work started so far becomes the work started before this heartbeat. */
function beat(cells: Uint32Array): void {
  const began = cells[CELL.began] ?? 0
  if (began !== 0) cells[CELL.before] = began
  cells[CELL.began] = 0
  cells[CELL.beats] = ((cells[CELL.beats] ?? 0) + 1) >>> 0
}

/**
 * Starts the watchdog of this process, whose handlers of SIGTERM and SIGINT must be installed. If
 * there can be none, `report` gets the reason.
 */
export function watchdogSignals(options: Pick<WatchdogOptions, 'stopMs' | 'format' | 'level'>, report: (why: string) => void): LoopSignals {
  let cells: Uint32Array
  try {
    const codes = { cutShortCode: EXIT.cutShort, stoppedCode: EXIT.stopped }
    cells = startWatchdog({ ...options, ...codes, names: BEGUN_NAMES, beatMs: BEAT_MS })
  } catch (e) {
    report(e instanceof Error ? e.message : String(e))
    return UNWATCHED
  }
  beat(cells)
  setInterval(beat, BEAT_MS, cells).unref()
  return {
    begun: cells.subarray(CELL.began, CELL.began + 1),
    serving() {
      cells[CELL.phase] = PHASE.serving
    },
    closing() {
      cells[CELL.phase] = PHASE.closing
    },
    closed() {
      cells[CELL.phase] = PHASE.closed
    },
  }
}
