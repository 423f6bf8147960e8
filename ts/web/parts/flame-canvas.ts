// Draws a flame: boxes of less than a pixel together, nothing that is not seen.
import { type Boxes, grouped, hue } from '../../explore/index.ts'

export const ROW = 20

/** Boxes narrower than this are drawn as one with their neighbours, in pixels. */
const NARROWEST = 1.5

/** Room that text needs at least, in pixels, and what a character takes. */
const TEXT_WIDTH_MIN = 24
const CHARACTER = 6.7

/** The part of the whole that is shown, in gas. */
export interface Window {
  readonly from: number
  readonly to: number
}

/** What is drawn. */
export interface Scene {
  readonly boxes: Boxes
  readonly window: Window
  /** Pixels that are scrolled past. */
  readonly top: number
  readonly width: number
  readonly height: number
  readonly dark: boolean
  /** Box under the pointer, and box that keys are on; -1: none. */
  readonly hovered: number
  readonly focused: number
  /** Whether a name is looked for: those that have it stand out. */
  readonly sought: string
}

/** The first box of each depth, and behind the last one the count. */
export function rowsOf(boxes: Boxes): Int32Array {
  const rows = new Int32Array(boxes.deepest + 2).fill(boxes.count)
  for (let i = boxes.count - 1; i >= 0; i--) rows[boxes.depth[i] as number] = i
  return rows
}

const at = (list: { readonly [i: number]: number }, i: number): number => list[i] as number

/** The first box of a row that ends behind a place. */
function firstBehind(boxes: Boxes, from: number, to: number, place: number): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >> 1
    if (at(boxes.x, middle) + at(boxes.width, middle) <= place) low = middle + 1
    else high = middle
  }
  return low
}

/** The box at a point of the canvas; -1 where there is none. */
export function boxAt(scene: Scene, rows: Int32Array, px: number, py: number): number {
  const { boxes, window: view, width, top } = scene
  const depth = Math.floor((py + top) / ROW)
  if (depth < 0 || depth > boxes.deepest) return -1
  const place = view.from + (px / width) * (view.to - view.from)
  const found = firstBehind(boxes, at(rows, depth), at(rows, depth + 1), place)
  if (found >= at(rows, depth + 1) || at(boxes.x, found) > place) return -1
  return found
}

/** The colours of a name: one hue for a contract, one shade for a function. */
function colour(name: string, dark: boolean): string {
  const [contract = '', fn = ''] = name.split('::')
  const shade = hue(fn) % 10
  return dark ? `hsl(${hue(contract)} 42% ${28 + shade}%)` : `hsl(${hue(contract)} 62% ${74 + shade}%)`
}

interface Paint {
  readonly context: CanvasRenderingContext2D
  readonly scene: Scene
  readonly colours: Map<number, string>
}

function drawBox({ context, scene, colours }: Paint, i: number, x: number, y: number, width: number): void {
  const { boxes, dark, hovered, focused, sought } = scene
  const index = at(boxes.name, i)
  const name = boxes.names[index] as string
  let fill = colours.get(index)
  if (fill === undefined) {
    fill = colour(name, dark)
    colours.set(index, fill)
  }
  const isFaint = sought !== '' && !name.toLowerCase().includes(sought)
  const failed = at(boxes.failed, i) === 1
  context.globalAlpha = isFaint ? 0.25 : 1
  context.fillStyle = fill
  context.fillRect(x, y, Math.max(1, width - 1), ROW - 1)
  if (failed) {
    context.fillStyle = dark ? '#ff8f86' : '#b3211b'
    context.fillRect(x, y, Math.min(3, width), ROW - 1)
  }
  if (i === hovered || i === focused) {
    context.strokeStyle = dark ? '#fff' : '#211c18'
    context.lineWidth = i === focused ? 2 : 1
    context.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 2), ROW - 2)
  }
  if (width < TEXT_WIDTH_MIN) {
    context.globalAlpha = 1
    return
  }
  const left = Math.max(x, 0) + (failed ? 7 : 5)
  const room = Math.floor((Math.min(x + width, scene.width) - left - 4) / CHARACTER)
  const text = `${failed ? '✗ ' : ''}${name}${at(boxes.merged, i) > 1 ? ` ×${grouped(at(boxes.merged, i))}` : ''}`
  if (room > 2) {
    context.fillStyle = dark ? '#f4efea' : '#211c18'
    context.fillText(text.length <= room ? text : `${text.slice(0, room - 1)}…`, left, y + 14)
  }
  context.globalAlpha = 1
}

/** Draws what is seen of a flame. */
export function drawFlame(canvas: HTMLCanvasElement, scene: Scene, rows: Int32Array, colours: Map<number, string>): void {
  const context = canvas.getContext('2d')
  if (context === null) return
  const { boxes, window: view, width, height, top, dark } = scene
  const ratio = devicePixelRatio || 1
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  context.font = '11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'
  const scale = width / Math.max(1e-9, view.to - view.from)
  const paint = { context, scene, colours }
  const [first, last] = [Math.floor(top / ROW), Math.min(boxes.deepest, Math.ceil((top + height) / ROW))]
  for (let depth = first; depth <= last; depth++) {
    const y = depth * ROW - top
    const end = at(rows, depth + 1)
    let mergedFrom = -1
    let mergedTo = -1
    const flush = (): void => {
      if (mergedFrom < 0) return
      context.fillStyle = dark ? '#4a4039' : '#d9cfc5'
      context.fillRect(mergedFrom, y, Math.max(1, mergedTo - mergedFrom), ROW - 1)
      mergedFrom = -1
    }
    for (let i = firstBehind(boxes, at(rows, depth), end, view.from); i < end; i++) {
      const x = (at(boxes.x, i) - view.from) * scale
      if (x > width) break
      const wide = at(boxes.width, i) * scale
      if (wide >= NARROWEST) {
        flush()
        drawBox(paint, i, x, y, wide)
        continue
      }
      if (mergedFrom >= 0 && x - mergedTo > 1) flush()
      if (mergedFrom < 0) mergedFrom = x
      mergedTo = x + wide
    }
    flush()
  }
}

/** What is said of a box. */
export function boxText(boxes: Boxes, i: number): string {
  const name = boxes.names[at(boxes.name, i)] as string
  const [gas, own, merged] = [Math.round(at(boxes.width, i)), at(boxes.own, i), at(boxes.merged, i)]
  const share = ((100 * at(boxes.width, i)) / boxes.total).toFixed(1)
  const times = merged > 1 ? `, ${grouped(merged)} calls` : ''
  return `${name}: ${grouped(gas)} gas (${share} %), ${grouped(own)} of its own${times}${at(boxes.failed, i) === 1 ? ', failed' : ''}`
}

/** The box that a key leads to from another one; the same where there is none. */
export function neighbour(boxes: Boxes, rows: Int32Array, i: number, key: string): number {
  if (i < 0) return boxes.count > 0 ? 0 : -1
  const depth = at(boxes.depth, i)
  if (key === 'ArrowUp') return at(boxes.parent, i) < 0 ? i : at(boxes.parent, i)
  if (key === 'ArrowLeft') return i > at(rows, depth) ? i - 1 : i
  if (key === 'ArrowRight') return i + 1 < at(rows, depth + 1) ? i + 1 : i
  if (key !== 'ArrowDown' || depth >= boxes.deepest) return i
  for (let child = at(rows, depth + 1); child < at(rows, depth + 2); child++) if (at(boxes.parent, child) === i) return child
  return i
}
