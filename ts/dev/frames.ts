// What the console looks for in the frames of a call: the innermost one that failed, and calls of
// console.log.
import { consoleLine } from './console-log.ts'
import { revertReason } from './reason.ts'

/** A frame of callTracer, as far as it is looked at here. */
export interface Frame {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly input: string
  readonly output?: string
  readonly error?: string
  readonly calls?: readonly Frame[]
}

/** Where a call failed. */
export interface Failure {
  /** What the EVM says of the innermost frame that failed, and the reason that it gave. */
  readonly reason: string
  readonly type: string
  readonly to: string | undefined
  /**
   * The first four bytes of its input; undefined where it has fewer, and where a contract was being
   * made.
   */
  readonly selector: string | undefined
  /** 0 is the transaction's own call. */
  readonly depth: number
}

/** Deepest frame that is followed; the EVM has 1024. */
const DEPTH_MAX = 1024

const isCreation = (type: string): boolean => type.startsWith('CREATE')

/** The innermost frame that the failure came from; undefined where nothing failed. */
export function failureOf(top: Frame): Failure | undefined {
  if (top.error === undefined) return undefined
  let frame = top
  let depth = 0
  for (; depth < DEPTH_MAX; depth++) {
    // A failure comes up from the last call: what failed before it was taken, and execution went
    // on.
    const last = frame.calls?.at(-1)
    if (last?.error === undefined || !cameFrom(frame, last)) break
    frame = last
  }
  const said = frame.error as string
  const why = revertReason(frame.output)
  return {
    reason: why === undefined ? said : `${said}: ${why}`,
    type: frame.type,
    to: frame.to,
    selector: isCreation(frame.type) || frame.input.length < 10 ? undefined : frame.input.slice(0, 10),
    depth,
  }
}

/**
 * Whether a frame failed because a call of its did: it gives on what that gave, or gave nothing of
 * its own.
 */
function cameFrom(frame: Frame, call: Frame): boolean {
  const [own, given] = [frame.output ?? '0x', call.output ?? '0x']
  return own === given || own === '0x'
}

/** The lines that a call and those within it logged, in order. */
export function consoleLines(top: Frame): string[] {
  const lines: string[] = []
  const waiting: Frame[] = [top]
  for (let frame = waiting.pop(); frame !== undefined; frame = waiting.pop()) {
    const line = consoleLine(frame.to, frame.input)
    if (line !== undefined) lines.push(line)
    for (let i = (frame.calls?.length ?? 0) - 1; i >= 0; i--) waiting.push(frame.calls?.[i] as Frame)
  }
  return lines
}
