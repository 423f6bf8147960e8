// Lines that clients cause: a bound of them in each second, since a burst of requests must not
// become a burst of writes.

/** Lines of one kind that are written in a second. */
const LINES_PER_SECOND_MAX = 20

const SECOND_MS = 1000

/** The bound of one kind of line. */
export class LineBudget {
  private written = 0
  private leftOut = 0
  private timer: NodeJS.Timeout | undefined
  private readonly report: (leftOut: number) => void

  /** `report` is called at the end of a second in which lines were left out, with their number. */
  constructor(report: (leftOut: number) => void) {
    this.report = report
  }

  /** Whether one more line is written. */
  take(): boolean {
    this.timer ??= setTimeout(() => this.end(), SECOND_MS).unref()
    if (this.written < LINES_PER_SECOND_MAX) {
      this.written++
      return true
    }
    this.leftOut++
    return false
  }

  private end(): void {
    const { leftOut } = this
    this.timer = undefined
    this.written = 0
    this.leftOut = 0
    if (leftOut > 0) this.report(leftOut)
  }
}
