// Turns of the event loop: how much of one is spent on requests, and whose request is next. A
// hundred requests that arrive at once would otherwise be served in one turn, and a client whose
// request is read behind them would wait for all.
import { Queue } from './queue.ts'

/**
 * Time of one turn that is spent on requests before the rest waits for the next one, in
 * milliseconds. A request that takes longer is not interrupted.
 */
const TURN_MS = 1

/** What starting a request counts as at least, in milliseconds: part of its work comes later. */
const REQUEST_MS_MIN = 0.05

/** What serves one request. */
type Serve = () => void

/** The requests of a listener. */
export class Turns {
  /** Requests that wait, by line, in the order in which lines are next. */
  private readonly lines = new Map<string, Queue<Serve>>()
  private leftMs = TURN_MS
  private isScheduled = false
  private readonly now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.now = now
  }

  /** Requests that wait. */
  get waiting(): number {
    let all = 0
    for (const line of this.lines.values()) all += line.length
    return all
  }

  /**
   * Serves a request: within this call if the turn has time left, otherwise in a later turn.
   * Lines, which are clients, take turns. `serve` must not throw.
   */
  run(line: string, serve: Serve): void {
    this.schedule()
    if (this.leftMs > 0 && this.lines.size === 0) this.spend(serve)
    else this.wait(line, serve)
  }

  /** As `run`, for what continues a request: nothing to wait for if the turn has time left. */
  room(line: string): Promise<void> | undefined {
    this.schedule()
    if (this.leftMs > 0 && this.lines.size === 0) {
      this.leftMs -= REQUEST_MS_MIN
      return undefined
    }
    return new Promise((resolve) => this.wait(line, resolve))
  }

  private wait(line: string, serve: Serve): void {
    const queue = this.lines.get(line) ?? new Queue<Serve>()
    queue.push(serve)
    this.lines.set(line, queue)
  }

  private spend(serve: Serve): void {
    const began = this.now()
    serve()
    this.leftMs -= Math.max(REQUEST_MS_MIN, this.now() - began)
  }

  /** The next turn begins once the loop has looked for what else has come. */
  private schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.begin)
  }

  private readonly begin = (): void => {
    this.isScheduled = false
    this.leftMs = TURN_MS
    while (this.leftMs > 0 && this.lines.size > 0) {
      const [line, queue] = this.lines.entries().next().value as [string, Queue<Serve>]
      const serve = queue.shift() as Serve
      // A line that has more comes after the others.
      this.lines.delete(line)
      if (queue.length > 0) this.lines.set(line, queue)
      this.spend(serve)
    }
    if (this.lines.size > 0) this.schedule()
  }
}
