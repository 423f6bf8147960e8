// A list of any length of which the rows in sight are drawn. A browser lays out some 33 million
// pixels at most, and 16.7 million steps
// take 370 million: beyond a bound the place of the scroll bar stands for a part of the list, and
// the wheel moves by rows.
import type { ComponentChildren, HTMLAttributes, JSX, Ref } from 'preact'
import { useEffect, useImperativeHandle, useRef, useState } from 'preact/hooks'

/** Tallest box that is scrolled by the browser itself, in pixels. */
const HEIGHT_MAX = 8_000_000

/** Rows that are drawn beyond those in sight, on each side. */
const BEYOND = 6

/** Moves a list. */
export interface ListHandle {
  /** Brings a row into sight. */
  show(index: number, where?: 'nearest' | 'center'): void
}

interface Props {
  readonly count: number
  readonly rowHeight: number
  readonly row: (index: number) => ComponentChildren
  /** Told which rows are in sight: from, and to without it. */
  readonly onRange?: (from: number, to: number) => void
  readonly handle?: Ref<ListHandle>
  readonly class?: string
  /** Whether a list that is short takes no more room than it has rows. */
  readonly fit?: boolean
  readonly attributes?: HTMLAttributes<HTMLDivElement> & { readonly 'data-testid'?: string }
}

export function VirtualList({
  count,
  rowHeight,
  row,
  onRange,
  handle,
  class: name = '',
  fit = false,
  attributes = {},
}: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [height, setHeight] = useState(600)
  /** The first row in sight, with its fraction. */
  const [first, setFirst] = useState(0)
  /** Where the scroll bar was put, so that its own event is not taken for the reader's. */
  const placed = useRef(-1)
  const whole = Math.min(HEIGHT_MAX, count * rowHeight)
  const isScaled = count * rowHeight > HEIGHT_MAX
  const last = Math.max(0, count - height / rowHeight)
  const range = Math.max(1, whole - height)
  const topOf = (index: number): number => (isScaled ? (index / Math.max(1e-9, last)) * range : index * rowHeight)
  const move = (to: number): void => {
    const next = Math.min(last, Math.max(0, to))
    setFirst(next)
    if (box.current === null) return
    box.current.scrollTop = topOf(next)
    placed.current = box.current.scrollTop
  }
  useImperativeHandle(
    handle ?? { current: null },
    () => ({
      show(index, where = 'nearest') {
        const rows = height / rowHeight
        if (where === 'center') move(index - rows / 2 + 0.5)
        else if (index < first) move(index)
        else if (index + 1 > first + rows) move(index + 1 - rows)
      },
    }),
    [first, height, count],
  )
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const watch = new ResizeObserver(() => setHeight(element.clientHeight))
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  useEffect(() => {
    const element = box.current
    if (element === null || !isScaled) return
    const onWheel = (event: WheelEvent): void => {
      if (event.ctrlKey || event.deltaY === 0) return
      event.preventDefault()
      const unit =
        event.deltaMode === WheelEvent.DOM_DELTA_LINE
          ? 1
          : event.deltaMode === WheelEvent.DOM_DELTA_PAGE
            ? height / rowHeight
            : 1 / rowHeight
      move(first + event.deltaY * unit)
    }
    element.addEventListener('wheel', onWheel, { passive: false })
    return () => element.removeEventListener('wheel', onWheel)
  })
  const from = Math.max(0, Math.floor(Math.min(first, last)) - BEYOND)
  const to = Math.min(count, Math.ceil(Math.min(first, last) + height / rowHeight) + BEYOND)
  useEffect(() => onRange?.(from, to), [from, to, count])
  const scrollTop = box.current?.scrollTop ?? 0
  const shift = isScaled ? scrollTop + (from - Math.min(first, last)) * rowHeight : from * rowHeight
  return (
    <div
      {...attributes}
      ref={box}
      class={`vlist ${name}`}
      {...(fit ? { style: { height: `min(68vh, ${Math.max(1, count) * rowHeight}px)` } } : {})}
      onScroll={(event) => {
        const { scrollTop: at } = event.currentTarget
        if (Math.abs(at - placed.current) < 1) return
        placed.current = -1
        setFirst(isScaled ? (at / range) * last : at / rowHeight)
      }}
    >
      <div class="space" style={{ height: `${whole}px` }} role="presentation">
        <div class="layer" style={{ transform: `translateY(${shift}px)` }} role="presentation">
          {Array.from({ length: Math.max(0, to - from) }, (_, i) => row(from + i))}
        </div>
      </div>
    </div>
  )
}
