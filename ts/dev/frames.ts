// What the console looks for in the frames of a call: those that failed, and calls of console.log.
import { failureChain } from '../explore/failure.ts'
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
  /** The failure of a call of this frame, in place of which the frame gave a reason of its own. */
  readonly replaced?: Failure
}

const isCreation = (type: string): boolean => type.startsWith('CREATE')

function described({ type, to, input, error = '', output }: Frame, depth: number): Failure {
  const why = revertReason(output)
  return {
    reason: why === undefined ? error : `${error}: ${why}`,
    type,
    to,
    selector: isCreation(type) || input.length < 10 ? undefined : input.slice(0, 10),
    depth,
  }
}

/**
 * The reason of the failure as the sender got it and the frame that gave it, with what that frame
 * replaced; undefined where nothing failed.
 */
export function failureOf(top: Frame): Failure | undefined {
  const chain = failureChain(top)
  let failure: Failure | undefined
  for (const [i, { role, frame }] of chain.entries()) {
    if (role !== 'arose' && role !== 'replaced') continue
    const own = described(frame, chain.length - 1 - i)
    failure = failure === undefined ? own : { ...own, replaced: failure }
  }
  return failure
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
