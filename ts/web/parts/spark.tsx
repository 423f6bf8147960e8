// A line of the last ten minutes. uPlot is loaded with the first one.
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { theme } from '../store/theme.ts'

export interface SparkProps {
  /** Times in seconds and values; null where there is none. */
  readonly times: readonly number[]
  readonly values: readonly (number | null)[]
  readonly label: string
}

const HEIGHT = 40

interface Plot {
  setData(data: [number[], (number | null)[]]): void
  destroy(): void
}

export function Spark({ times, values, label }: SparkProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot | undefined>(undefined)
  const isDark = theme.value === 'dark'
  useEffect(() => {
    const element = box.current
    if (element === null) return
    let gone = false
    void import('uplot').then(
      ({ default: UPlot }) => {
        if (gone) return
        const style = getComputedStyle(document.documentElement)
        const [stroke, fill] = [style.getPropertyValue('--bar-own').trim(), style.getPropertyValue('--accent-soft').trim()]
        plot.current = new UPlot(
          {
            width: element.clientWidth,
            height: HEIGHT,
            padding: [4, 0, 0, 0],
            legend: { show: false },
            cursor: { show: false },
            axes: [{ show: false }, { show: false }],
            scales: { y: { range: (_, min, max) => (min === max ? [min - 1, max + 1] : [min - (max - min) * 0.1, max]) } },
            series: [{}, { stroke, fill, width: 1.5, points: { show: false } }],
          },
          [[...times], [...values]],
          element,
        )
        // uPlot takes no language tags of POSIX (en-US@posix): the tile stands without its line then.
      },
      () => undefined,
    )
    return () => {
      gone = true
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [isDark])
  useEffect(() => plot.current?.setData([[...times], [...values]]), [times, values])
  return <div class="spark" ref={box} role="img" aria-label={label} />
}
