// A flame that is looked at with pointer and keys.
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Boxes, type Frame, printable } from '../../explore/index.ts'
import { theme } from '../store/theme.ts'
import { boxAt, boxText, drawFlame, neighbour, ROW, rowsOf, type Scene, type Window } from './flame-canvas.ts'

/** Tallest flame that is shown at once, in pixels; deeper ones are scrolled. */
const HEIGHT_MAX = 480

/** Names that the document has beside the drawing. */
const NAMES_MAX = 100

interface Props {
  readonly boxes: Boxes
  readonly label: string
  /**
   * Told of a box that is clicked: its first frame, and the frame of depth 0 above that. Without
   * it a click zooms.
   */
  readonly onOpen?: (top: Frame, frame: Frame) => void
  /** Told of a box that is clicked, beside zooming. */
  readonly onPick?: (frame: Frame) => void
  /** What boxes are. */
  readonly what?: string
}

interface Tip {
  readonly box: number
  readonly x: number
  readonly y: number
}

export function FlameView({ boxes, label, onOpen, onPick, what = 'calls' }: Props): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useMemo(() => rowsOf(boxes), [boxes])
  const colours = useMemo(() => new Map<number, string>(), [boxes, theme.value])
  const [size, setSize] = useState({ width: 0, top: 0 })
  const [view, setView] = useState<Window>()
  const [tip, setTip] = useState<Tip>()
  const [focused, setFocused] = useState(-1)
  const [sought, setSought] = useState('')
  const whole = { from: 0, to: boxes.total }
  const window_ = view ?? whole
  const height = Math.min(HEIGHT_MAX, (boxes.deepest + 1) * ROW)
  const dark = theme.value === 'dark'
  const scene: Scene = { boxes, window: window_, top: size.top, width: size.width, height, dark, hovered: tip?.box ?? -1, focused, sought }
  useEffect(() => {
    setView(undefined)
    setFocused(-1)
    setTip(undefined)
  }, [boxes])
  useEffect(() => {
    const element = scroller.current
    if (element === null) return
    const watch = new ResizeObserver(() => setSize((before) => ({ ...before, width: element.clientWidth })))
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      // Not before the width is known: a canvas of another width would be stretched.
      if (canvas.current !== null && scene.width > 0) drawFlame(canvas.current, scene, rows, colours)
    })
    return () => cancelAnimationFrame(frame)
  })
  const topOf = (box: number): number => {
    let i = box
    while ((boxes.parent[i] as number) >= 0) i = boxes.parent[i] as number
    return i
  }
  const zoom = (box: number): void => {
    const [x, width] = [boxes.x[box] as number, boxes.width[box] as number]
    const isWhole = window_.from === x && window_.to === x + width
    setView(isWhole || width <= 0 ? undefined : { from: x, to: x + width })
  }
  const open = (box: number): void => {
    if (box < 0) return
    const frame = boxes.frame[box]
    if (onOpen !== undefined && frame !== undefined) onOpen(boxes.frame[topOf(box)] as Frame, frame)
    else {
      zoom(box)
      if (frame !== undefined) onPick?.(frame)
    }
  }
  const place = (event: MouseEvent): number => boxAt(scene, rows, event.offsetX, event.offsetY)
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') open(focused)
    else if (event.key === 'Escape') setView(undefined)
    else if (event.key.startsWith('Arrow')) {
      const next = neighbour(boxes, rows, focused, event.key)
      setFocused(next)
      const y = (boxes.depth[next] ?? 0) * ROW
      const element = scroller.current
      if (element !== null && (y < element.scrollTop || y + ROW > element.scrollTop + height)) element.scrollTop = y - height / 2
      const [x, width] = [boxes.x[next] ?? 0, boxes.width[next] ?? 0]
      if (x + width <= window_.from || x >= window_.to) setView(undefined)
    } else return
    event.preventDefault()
  }
  const said = tip?.box ?? focused
  return (
    <div
      class="flame-box"
      data-testid="flame"
      data-frames={boxes.frames}
      data-boxes={boxes.count}
      data-names={boxes.names.slice(0, NAMES_MAX).join('\n')}
    >
      <div class="steps-bar">
        <input
          class="field grow"
          aria-label="Find in the flame"
          placeholder="Find a contract or function"
          value={sought}
          onInput={(event) => setSought(event.currentTarget.value.trim().toLowerCase())}
        />
        <button type="button" class="button small" disabled={view === undefined} onClick={() => setView(undefined)}>
          Show all
        </button>
      </div>
      <div
        ref={scroller}
        style={{ height: `${height}px`, overflowY: (boxes.deepest + 1) * ROW > height ? 'auto' : 'hidden', position: 'relative' }}
        onScroll={(event) => setSize({ width: event.currentTarget.clientWidth, top: event.currentTarget.scrollTop })}
      >
        <div style={{ height: `${(boxes.deepest + 1) * ROW}px` }}>
          <canvas
            ref={canvas}
            style={{ height: `${height}px`, position: 'sticky', top: '0' }}
            tabIndex={0}
            role="img"
            aria-label={`${label}: a flame of ${boxes.frames} ${what}. Arrow keys move, Enter opens, Escape shows all.`}
            onMouseMove={(event) => {
              const box = place(event)
              setTip(box < 0 ? undefined : { box, x: event.offsetX, y: event.offsetY })
            }}
            onMouseLeave={() => setTip(undefined)}
            onClick={(event) => {
              setFocused(place(event))
              open(place(event))
            }}
            onKeyDown={onKey}
          />
        </div>
      </div>
      <div class="flame-said" aria-live="polite">
        <bdi>
          {said < 0 || said >= boxes.count ? `${boxes.frames} ${what}, ${boxes.deepest + 1} deep` : printable(boxText(boxes, said))}
        </bdi>
      </div>
    </div>
  )
}
