// Requests that must keep their order: what comes while others are answered goes to the core
// together once these are, and waits there for nothing but its turn.
import type { CoreJson } from './long-text.ts'

/** Starts requests that are answered one after the other; the answers in the same order. */
export type RunInOrder = (requests: readonly CoreJson[]) => readonly Promise<Uint8Array>[]

/** A request that was not started yet. */
interface Waiting {
  readonly request: CoreJson
  readonly run: RunInOrder
  readonly resolve: (answer: Promise<Uint8Array>) => void
  readonly reject: (error: unknown) => void
}

/** The requests of one batch that must keep their order. */
export class Line {
  private waiting: Waiting[] = []
  private busy = false

  /** The answer to a request, which is started after all earlier ones of this line. */
  add(request: CoreJson, run: RunInOrder): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, run, resolve, reject })
      if (this.busy) return
      this.busy = true
      // Others of the same batch may follow at once.
      queueMicrotask(() => this.start())
    })
  }

  private start(): void {
    const started = this.waiting
    this.waiting = []
    const [first] = started
    if (first === undefined) {
      this.busy = false
      return
    }
    let last: Promise<unknown> | undefined
    try {
      const answers = first.run(started.map(({ request }) => request))
      for (const [index, { resolve }] of started.entries()) resolve(answers[index] as Promise<Uint8Array>)
      last = answers.at(-1)
    } catch (e) {
      for (const { reject } of started) reject(e)
    }
    const next = () => this.start()
    if (last === undefined) queueMicrotask(next)
    else last.then(next, next)
  }
}
