// Steps for the list in view: pages that are kept for a while, one request at a time. A request for
// steps that left the view is cancelled.
import { useEffect, useRef, useState } from 'preact/hooks'
import { rpc } from '../store/rpc.ts'

/** A step as debug_traceSteps gives it. */
export interface Step {
  readonly index: number
  readonly frame: number
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly gasCost: number
  readonly depth: number
  readonly stack?: readonly string[]
  readonly memory?: readonly string[]
  readonly memorySize?: number
  readonly storage?: Readonly<Record<string, string>>
  readonly returnData?: string
  readonly refund?: number
  readonly error?: string
}

interface Page {
  readonly steps: readonly Step[]
  readonly next?: number
}

/** Steps of a page, and pages that are kept. */
const PAGE = 200
const PAGES_MAX = 64

/**
 * How long the list must rest before steps are requested, in milliseconds: a flick through a
 * million of them requests none.
 */
const SETTLE_MS = 70

/** Bytes of memory that are shown of a step. */
export const MEMORY_MAX = 4096

/** The steps of a range of a list as far as they are loaded; requests the rest. */
export function useSteps(
  hash: string,
  count: number,
): { get: (index: number) => Step | undefined; want: (from: number, to: number) => void; error: unknown } {
  const pages = useRef(new Map<number, readonly Step[]>())
  const wanted = useRef<{ from: number; to: number }>({ from: 0, to: 0 })
  const running = useRef<AbortController | undefined>(undefined)
  const timer = useRef(0)
  const [, setRound] = useState(0)
  const [error, setError] = useState<unknown>()
  const missing = (): { from: number; to: number } | undefined => {
    const { from, to } = wanted.current
    const first = Math.floor(from / PAGE)
    const last = Math.floor(Math.max(from, to - 1) / PAGE)
    for (let page = first; page <= last; page++)
      if (!pages.current.has(page)) return { from: page * PAGE, to: Math.min(count, (page + 1) * PAGE) }
    return undefined
  }
  const load = async (): Promise<void> => {
    const range = missing()
    if (range === undefined || range.to <= range.from) return
    const gone = new AbortController()
    running.current?.abort()
    running.current = gone
    try {
      const steps: Step[] = []
      for (let at: number | undefined = range.from; at !== undefined; ) {
        const page: Page = await rpc('debug_traceSteps', [hash, { from: at, to: range.to, fields: [] }], gone.signal)
        steps.push(...page.steps)
        at = page.next
      }
      pages.current.set(range.from / PAGE, steps)
      while (pages.current.size > PAGES_MAX) pages.current.delete(pages.current.keys().next().value as number)
      setError(undefined)
      setRound((round) => round + 1)
      void load()
    } catch (e) {
      if (!gone.signal.aborted) setError(e)
    }
  }
  const want = (from: number, to: number): void => {
    wanted.current = { from, to }
    window.clearTimeout(timer.current)
    if (missing() === undefined) return
    running.current?.abort()
    timer.current = window.setTimeout(() => void load(), SETTLE_MS)
  }
  useEffect(
    () => () => {
      window.clearTimeout(timer.current)
      running.current?.abort()
    },
    [],
  )
  return { get: (index) => pages.current.get(Math.floor(index / PAGE))?.[index % PAGE], want, error }
}

/** A step with its stack, memory and the rest, and the one before it. */
export interface Whole {
  readonly step: Step
  readonly before: Step | undefined
}

export function useWholeStep(hash: string, at: number): { whole: Whole | undefined; error: unknown } {
  const [state, setState] = useState<{ at: number; whole: Whole | undefined; error: unknown }>({
    at: -1,
    whole: undefined,
    error: undefined,
  })
  useEffect(() => {
    const gone = new AbortController()
    const timer = window.setTimeout(() => {
      const options = {
        from: Math.max(0, at - 1),
        to: at + 1,
        fields: ['stack', 'storage', 'returnData'],
        memory: { offset: 0, length: MEMORY_MAX },
      }
      rpc<Page>('debug_traceSteps', [hash, options], gone.signal).then(
        ({ steps }) => {
          const step = steps.find(({ index }) => index === at)
          const before = steps.find(({ index }) => index === at - 1)
          setState({ at, whole: step === undefined ? undefined : { step, before }, error: undefined })
        },
        (error: unknown) => {
          if (!gone.signal.aborted) setState({ at, whole: undefined, error })
        },
      )
    }, SETTLE_MS)
    return () => {
      window.clearTimeout(timer)
      gone.abort()
    }
  }, [hash, at])
  return { whole: state.whole, error: state.error }
}
