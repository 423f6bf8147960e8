// The tree of calls from callTracer with logs: frames by id, their own gas, events in their
// positions.

/** A log of a frame, as callTracer gives it with `withLog`. */
export interface RawLog {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  /** Calls of the frame that came before it, in hex. */
  readonly position?: string
}

/** A frame as callTracer gives it. */
export interface RawFrame {
  readonly type: string
  readonly from: string
  readonly to?: string
  readonly value?: string
  readonly gas: string
  readonly gasUsed: string
  readonly input: string
  readonly output?: string
  readonly error?: string
  readonly revertReason?: string
  readonly calls?: readonly RawFrame[]
  readonly logs?: readonly RawLog[]
}

/** An event that a frame emitted. */
export interface EventItem {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
}

/** A frame of the tree. */
export interface Frame {
  /** Its place: `0` is the transaction's own call, `0.2` the third call of that. */
  readonly id: string
  readonly kind: string
  readonly from: string
  /** What is called, or made; undefined where a creation failed. */
  readonly to: string | undefined
  /** In wei. */
  readonly value: bigint
  /** Gas that the frame was given. */
  readonly gas: number
  readonly gasUsed: number
  /** Gas that was used in the frame itself and not in its calls. */
  readonly ownGas: number
  readonly input: string
  readonly output: string
  readonly error: string | undefined
  /** 0 is the transaction's own call. */
  readonly depth: number
  readonly calls: readonly Frame[]
  /** Calls and events in the order in which they came. */
  readonly items: readonly (Frame | EventItem)[]
}

/** Frames of one transaction that are shown; a block of 16.7 M gas has at most some 160,000. */
export const FRAMES_MAX = 500_000

/** A trace has more frames than are shown. */
export class TooManyFrames extends Error {
  override name = 'TooManyFrames'

  constructor() {
    super(`the trace has more than ${FRAMES_MAX} frames`)
  }
}

export const isFrame = (item: Frame | EventItem): item is Frame => 'kind' in item

/** Whether a frame makes a contract. */
export const isCreation = (kind: string): boolean => kind.startsWith('CREATE')

interface Building {
  readonly raw: RawFrame
  readonly id: string
  readonly depth: number
  readonly calls: Frame[]
}

/** The frame of a call whose own calls are there. */
function frameOf({ raw, id, depth, calls }: Building): Frame {
  const gasUsed = Number(raw.gasUsed)
  const below = calls.reduce((sum, call) => sum + call.gasUsed, 0)
  return {
    id,
    kind: raw.type,
    from: raw.from,
    to: raw.to,
    value: raw.value === undefined ? 0n : BigInt(raw.value),
    gas: Number(raw.gas),
    gasUsed,
    // The gas that a call returns at its end may exceed the gas that its frame kept, so it is never
    // shown as negative.
    ownGas: Math.max(0, gasUsed - below),
    input: raw.input,
    output: raw.output ?? '0x',
    error: raw.error,
    depth,
    calls,
    items: itemsOf(calls, raw.logs ?? []),
  }
}

/** Calls with the events between them. */
function itemsOf(calls: readonly Frame[], logs: readonly RawLog[]): (Frame | EventItem)[] {
  const items: (Frame | EventItem)[] = []
  let next = 0
  for (const { address, topics, data, position = '0x0' } of logs) {
    for (const before = Number(position); next < calls.length && next < before; next++) items.push(calls[next] as Frame)
    items.push({ address, topics, data })
  }
  return [...items, ...calls.slice(next)]
}

/** The tree of a trace. Without recursion: frames nest 1,024 deep. Throws `TooManyFrames`. */
export function buildTree(top: RawFrame): Frame {
  const open: Building[] = [{ raw: top, id: '0', depth: 0, calls: [] }]
  let frames = 0
  for (;;) {
    const last = open[open.length - 1] as Building
    const next = last.raw.calls?.[last.calls.length]
    if (next !== undefined) {
      if (++frames > FRAMES_MAX) throw new TooManyFrames()
      open.push({ raw: next, id: `${last.id}.${last.calls.length}`, depth: last.depth + 1, calls: [] })
      continue
    }
    open.pop()
    const frame = frameOf(last)
    const parent = open[open.length - 1]
    if (parent === undefined) return frame
    parent.calls.push(frame)
  }
}

/** Every frame, each before its calls. */
export function* preorder(top: Frame): Generator<Frame, void> {
  const waiting = [top]
  for (let frame = waiting.pop(); frame !== undefined; frame = waiting.pop()) {
    yield frame
    for (let i = frame.calls.length - 1; i >= 0; i--) waiting.push(frame.calls[i] as Frame)
  }
}
