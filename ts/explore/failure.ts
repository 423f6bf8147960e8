// Where a failure arose, and what the frames above made of it.
import { type Frame, preorder } from './tree.ts'

/** What of a frame says whether it failed, and how; callTracer's own frames have it too. */
export interface Failing<F> {
  readonly error?: string | undefined
  /** Absent where the frame gave nothing back. */
  readonly output?: string | undefined
  readonly calls?: readonly F[] | undefined
}

/** What a frame did with the failure of its last call. */
export type Role = 'arose' | 'passed on' | 'replaced' | 'dropped'

/** A frame that failed. */
export interface Link<F = Frame> {
  readonly role: Role
  readonly frame: F
}

/** What the EVM says of a frame that ended by REVERT; any other error is the frame's own. */
const REVERTED = 'execution reverted'

/** What a frame did with what its last call gave back when it failed. */
function roleOf<F>(frame: Failing<F>, call: Failing<F>): Role {
  const [own, given] = [frame.output ?? '0x', call.output ?? '0x']
  if (own === given) return 'passed on'
  return own === '0x' ? 'dropped' : 'replaced'
}

/**
 * The frames that failed, from the origin of the failure up to the transaction's own call; none if
 * nothing failed.
 */
export function failureChain<F extends Failing<F>>(top: F): Link<F>[] {
  if (top.error === undefined) return []
  const chain: Link<F>[] = []
  let frame = top
  for (;;) {
    // A failure comes from the last call: an earlier failed call was caught, and execution
    // continued.
    const last = frame.calls?.at(-1)
    if (frame.error !== REVERTED || last?.error === undefined) break
    chain.push({ role: roleOf(frame, last), frame })
    frame = last
  }
  chain.push({ role: 'arose', frame })
  return chain.reverse()
}

/**
 * Frames that failed without being part of the chain: their callers went on. Those that failed
 * within such a frame are left out.
 */
export function innerFailures(top: Frame): Frame[] {
  const chain = new Set(failureChain(top).map(({ frame }) => frame))
  const caught = new Set<Frame>()
  const within = new Set<Frame>()
  for (const frame of preorder(top)) {
    const isFailed = frame.error !== undefined && !chain.has(frame)
    if (isFailed && !within.has(frame)) caught.add(frame)
    if (isFailed || within.has(frame)) for (const call of frame.calls) within.add(call)
  }
  return [...caught]
}
