// Reads and throws away what is left of refused bodies, slowly: a client that is cut off while it
// sends may never see its answer, and reading at full speed is the work that the refusal spares.
import type { IncomingMessage } from 'node:http'

/** Time between two turns, in milliseconds. */
const TURN_MS = 10

/** Bytes that one body gets to send in its turn: all bodies together pass at 25 MiB a second. */
const TURN_BYTES = 256 * 1024

/** The refused bodies of a process, which are read in turns. */
export class Drain {
  private readonly bodies = new Set<IncomingMessage>()
  private timer: NodeJS.Timeout | undefined
  private left = 0

  /** Reads a body slowly from here on. Its former reader must ignore the chunks. */
  add(request: IncomingMessage): void {
    const remove = (): void => void this.bodies.delete(request)
    request.pause()
    request.once('end', remove).once('close', remove)
    request.on('data', (chunk: Buffer) => {
      this.left -= chunk.length
      if (this.left <= 0) request.pause()
    })
    this.bodies.add(request)
    this.timer ??= setInterval(() => this.turn(), TURN_MS).unref()
  }

  /** The body that has waited longest is read for a while. */
  private turn(): void {
    const [next] = this.bodies
    if (next === undefined) {
      clearInterval(this.timer)
      this.timer = undefined
      return
    }
    this.bodies.delete(next)
    this.bodies.add(next)
    this.left = TURN_BYTES
    next.resume()
  }
}
