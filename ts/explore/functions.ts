// Functions within contracts as a flame: the tree that debug_traceGasProfile makes of the jumps
// that source maps mark.
import type { Boxes, FlameOrder } from './boxes.ts'

/** A row of `stacks`: the row above it, a code, the destination of the jump, steps, own gas. */
export type StackRow = readonly [parent: number | null, code: number, pc: number, count: number, gas: number]

interface Group {
  readonly rows: number[]
  readonly parent: number
  readonly x: number
  readonly name: number
}

/** Gas of each row with what is below it. Rows stand behind the row above them. */
function totalsOf(rows: readonly StackRow[]): Float64Array {
  const totals = Float64Array.from(rows, (row) => row[4])
  for (let i = rows.length - 1; i >= 0; i--) {
    const parent = (rows[i] as StackRow)[0]
    if (parent !== null) totals[parent] = (totals[parent] as number) + (totals[i] as number)
  }
  return totals
}

/** Lays the functions out; `nameOf` gives the name of a row. Boxes have no frames. */
export function functionBoxes(rows: readonly StackRow[], nameOf: (row: StackRow) => string, order: FlameOrder = 'time'): Boxes {
  const totals = totalsOf(rows)
  const below: number[][] = rows.map(() => [])
  const tops: number[] = []
  for (const [i, [parent]] of rows.entries()) (parent === null ? tops : (below[parent] as number[])).push(i)
  const texts: string[] = []
  const indexes = new Map<string, number>()
  const nameIndex = (i: number): number => {
    const text = nameOf(rows[i] as StackRow)
    const known = indexes.get(text)
    if (known !== undefined) return known
    indexes.set(text, texts.length)
    return texts.push(text) - 1
  }
  const gasOf = (list: readonly number[]): number => list.reduce((sum, i) => sum + (totals[i] as number), 0)
  /** Rows of one name together: the tree has one row for each function that one calls. */
  const named = (list: readonly number[]): { rows: number[]; name: number }[] => {
    const byName = new Map<number, number[]>()
    for (const i of list) {
      const name = nameIndex(i)
      const group = byName.get(name)
      if (group === undefined) byName.set(name, [i])
      else group.push(i)
    }
    const groups = [...byName].map(([name, members]) => ({ name, rows: members }))
    return order === 'time' ? groups : groups.sort((a, b) => gasOf(b.rows) - gasOf(a.rows))
  }
  const groups: Group[] = []
  const depths: number[] = []
  const place = (list: readonly number[], parent: number, left: number, depth: number): void => {
    let x = left
    for (const { rows: members, name } of named(list)) {
      groups.push({ rows: members, parent, x, name })
      depths.push(depth)
      x += gasOf(members)
    }
  }
  place(tops, -1, 0, 0)
  for (let i = 0; i < groups.length; i++) {
    const group = groups[i] as Group
    place(
      group.rows.flatMap((row) => below[row] as number[]),
      i,
      group.x,
      (depths[i] as number) + 1,
    )
  }
  return {
    count: groups.length,
    frames: rows.length,
    x: Float64Array.from(groups, ({ x }) => x),
    width: Float64Array.from(groups, ({ rows: members }) => gasOf(members)),
    depth: Int32Array.from(depths),
    parent: Int32Array.from(groups, ({ parent }) => parent),
    name: Int32Array.from(groups, ({ name }) => name),
    names: texts,
    failed: new Uint8Array(groups.length),
    frame: [],
    merged: Int32Array.from(groups, () => 1),
    own: Float64Array.from(groups, ({ rows: members }) => members.reduce((sum, i) => sum + (rows[i] as StackRow)[4], 0)),
    total: Math.max(1, gasOf(tops)),
    deepest: depths.reduce((most, depth) => Math.max(most, depth), 0),
  }
}
