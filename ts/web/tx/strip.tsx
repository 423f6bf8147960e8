// All steps in one strip: how deep the calls are, and how the gas goes down. A click leads to a step.
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { theme } from '../store/theme.ts'
import type { StepIndex } from './load.ts'

const HEIGHT = 44

export function Strip({
  index,
  at,
  onGo,
}: {
  readonly index: StepIndex
  readonly at: number
  readonly onGo: (step: number) => void
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(800)
  const isDark = theme.value === 'dark'
  useEffect(() => {
    const element = canvas.current
    if (element === null) return
    const watch = new ResizeObserver(() => setWidth(element.clientWidth))
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  useEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (element == null || context == null) return
    const ratio = devicePixelRatio || 1
    element.width = Math.round(width * ratio)
    element.height = Math.round(HEIGHT * ratio)
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, width, HEIGHT)
    const { marks, every, frames, steps } = index
    const depths = marks.map(([frame]) => frames[frame]?.[4] ?? 0)
    const deepest = Math.max(1, ...frames.map((frame) => frame?.[4] ?? 0))
    const most = marks[0]?.[2] ?? 1
    context.fillStyle = isDark ? '#5a371f' : '#f3c9ad'
    for (let x = 0; x < width; x++) {
      const [from, to] = [Math.floor(((x / width) * steps) / every), Math.floor((((x + 1) / width) * steps) / every)]
      let depth = 0
      for (let i = from; i <= Math.min(Math.max(from, to), depths.length - 1); i++) depth = Math.max(depth, depths[i] ?? 0)
      const tall = ((depth + 1) / (deepest + 1)) * (HEIGHT - 6)
      context.fillRect(x, HEIGHT - tall, 1, tall)
    }
    context.strokeStyle = isDark ? '#ff9b63' : '#b3400b'
    context.lineWidth = 1.5
    context.beginPath()
    for (const [i, [, , gas]] of marks.entries())
      context.lineTo(((i * every) / Math.max(1, steps)) * width, 2 + (1 - gas / most) * (HEIGHT - 4))
    context.stroke()
    context.fillStyle = isDark ? '#ede8e3' : '#211c18'
    context.fillRect(Math.min(width - 2, (at / Math.max(1, steps)) * width - 1), 0, 2, HEIGHT)
  }, [index, at, width, isDark])
  return (
    <canvas
      ref={canvas}
      class="strip"
      role="img"
      aria-label="Depth of calls and gas left over all steps"
      onClick={(event) => onGo(Math.min(index.steps - 1, Math.floor((event.offsetX / width) * index.steps)))}
    />
  )
}
