// A flame as boxes in typed arrays: in the order of execution, or left-heavy, with equal stacks
// together and the most gas first.
import { flameName } from './flame.ts'
import type { Names } from './names.ts'
import type { Frame } from './tree.ts'

/** Layout of boxes in a row. */
export type FlameOrder = 'time' | 'left-heavy'

/**
 * A flame. Boxes are in breadth-first order: those of a depth from left to right, one depth after
 * the other.
 */
export interface Boxes {
  readonly count: number
  /** Frames that were laid out. */
  readonly frames: number
  /** Left end and width of each box in gas of the whole. */
  readonly x: Float64Array
  readonly width: Float64Array
  readonly depth: Int32Array
  /** The box above each; -1 for those of depth 0. */
  readonly parent: Int32Array
  /** Where in `names` the name of each is. */
  readonly name: Int32Array
  readonly names: readonly string[]
  /** Whether a frame of the box failed. */
  readonly failed: Uint8Array
  /** Frames of each box: the first of them, and how many. */
  readonly frame: readonly Frame[]
  readonly merged: Int32Array
  /** Own gas of the frames of each box. */
  readonly own: Float64Array
  readonly total: number
  readonly deepest: number
}

interface Group {
  readonly frames: Frame[]
  readonly name: number
  readonly parent: number
  readonly x: number
  readonly width: number
}

const gasOf = (frames: readonly Frame[]): number => frames.reduce((sum, { gasUsed }) => sum + gasUsed, 0)

/** Names of boxes, each once. */
class Texts {
  readonly all: string[] = []
  private readonly indexes = new Map<string, number>()
  private readonly names: Names

  constructor(names: Names) {
    this.names = names
  }

  /** The index of a frame's name. */
  of(frame: Frame): number {
    const text = flameName(frame, this.names)
    const known = this.indexes.get(text)
    if (known !== undefined) return known
    this.indexes.set(text, this.all.length)
    return this.all.push(text) - 1
  }
}

/** Frames as groups: each alone, or those of a name together. */
function grouped(frames: readonly Frame[], texts: Texts, order: FlameOrder): { readonly frames: Frame[]; readonly name: number }[] {
  if (order === 'time') return frames.map((frame) => ({ frames: [frame], name: texts.of(frame) }))
  const byName = new Map<number, Frame[]>()
  for (const frame of frames) {
    const name = texts.of(frame)
    const group = byName.get(name)
    if (group === undefined) byName.set(name, [frame])
    else group.push(frame)
  }
  return [...byName].map(([name, frames]) => ({ name, frames })).sort((a, b) => gasOf(b.frames) - gasOf(a.frames))
}

/** Lays trees out next to each other. Without recursion: frames nest 1,024 deep. */
export function flameBoxes(tops: readonly Frame[], names: Names, order: FlameOrder = 'time'): Boxes {
  const texts = new Texts(names)
  const total = Math.max(1, gasOf(tops))
  const groups: Group[] = []
  const depths: number[] = []
  const place = (frames: readonly Frame[], parent: number, left: number, scale: number, depth: number): void => {
    let x = left
    for (const group of grouped(frames, texts, order)) {
      const width = gasOf(group.frames) * scale
      groups.push({ ...group, parent, x, width })
      depths.push(depth)
      x += width
    }
  }
  place(tops, -1, 0, 1, 0)
  let frames = 0
  for (let i = 0; i < groups.length; i++) {
    const group = groups[i] as Group
    frames += group.frames.length
    const calls = group.frames.flatMap((frame) => frame.calls)
    if (calls.length === 0) continue
    // The sum of the calls may exceed the gas of the frame: no box is wider than the one above
    // it.
    const scale = group.width / Math.max(1, gasOf(group.frames), gasOf(calls))
    place(calls, i, group.x, scale, (depths[i] as number) + 1)
  }
  const count = groups.length
  const numbers = (of: (group: Group) => number): Float64Array => Float64Array.from(groups, of)
  return {
    count,
    frames,
    x: numbers(({ x }) => x),
    width: numbers(({ width }) => width),
    depth: Int32Array.from(depths),
    parent: Int32Array.from(groups, ({ parent }) => parent),
    name: Int32Array.from(groups, ({ name }) => name),
    names: texts.all,
    failed: Uint8Array.from(groups, (group) => (group.frames.some(({ error }) => error !== undefined) ? 1 : 0)),
    frame: groups.map((group) => group.frames[0] as Frame),
    merged: Int32Array.from(groups, (group) => group.frames.length),
    own: numbers((group) => group.frames.reduce((sum, { ownGas }) => sum + ownGas, 0)),
    total,
    deepest: depths.reduce((most, depth) => Math.max(most, depth), 0),
  }
}
