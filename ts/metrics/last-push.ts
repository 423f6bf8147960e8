// Pushes by OTLP that fail, and the last one, when the node stops.

/**
 * Time for the last push, in milliseconds: enough for a collector that answers, and short for one
 * that is gone, whose exporter would try again for ten seconds.
 */
export const LAST_PUSH_MS_MAX = 2_000

/** A push failed. Its stack has frames of OpenTelemetry only, which say nothing about the cause. */
export class PushError extends Error {
  override readonly name = 'PushError'

  constructor(message: string) {
    super(`OpenTelemetry: ${message}`)
    this.stack = String(this)
  }
}

/** Waits for the last push for at most `LAST_PUSH_MS_MAX`; reports where that was too short. */
export async function lastPush(what: string, push: Promise<void>, report: (e: unknown) => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(() => resolve(true), LAST_PUSH_MS_MAX)
  })
  try {
    const isLate = await Promise.race([push, late])
    if (isLate) report(new PushError(`the collector did not take the last ${what} within ${LAST_PUSH_MS_MAX} ms of the stop`))
  } catch (e) {
    report(e)
  } finally {
    clearTimeout(timer)
  }
}
