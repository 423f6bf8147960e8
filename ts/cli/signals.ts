// SIGINT and SIGTERM stop the process cleanly; a second one ends it at once.
import { EXIT } from './exit.ts'

/** Calls back once on the first signal. The returned function puts the default behaviour back. */
export function onStop(stop: (signal: NodeJS.Signals) => void): () => void {
  let asked = false
  const handler = (signal: NodeJS.Signals): void => {
    if (asked) process.exit(EXIT.stopped)
    asked = true
    stop(signal)
  }
  process.on('SIGINT', handler).on('SIGTERM', handler)
  return () => {
    process.off('SIGINT', handler).off('SIGTERM', handler)
  }
}
