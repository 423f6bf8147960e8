// What a page waits for: loaded by key, kept for a while, cancelled when it is not shown.
import { useEffect, useState } from 'preact/hooks'
import { tokenGiven } from './rpc.ts'

/** Answers that are kept. */
const KEPT_MAX = 40

export interface Resource<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly reload: () => void
}

const kept = new Map<string, unknown>()

function keep(key: string, value: unknown): void {
  kept.delete(key)
  kept.set(key, value)
  const oldest = kept.keys().next()
  if (kept.size > KEPT_MAX && !oldest.done) kept.delete(oldest.value)
}

/**
 * Loads a value under a key; undefined as key loads nothing. A value that is kept is there at
 * once.
 */
export function useResource<T>(key: string | undefined, load: (signal: AbortSignal) => Promise<T>, keeps = true): Resource<T> {
  const [state, setState] = useState<{ key: string | undefined; value: T | undefined; error: unknown }>({
    key: undefined,
    value: undefined,
    error: undefined,
  })
  const [round, setRound] = useState(0)
  const tokens = tokenGiven.value
  useEffect(() => {
    if (key === undefined) return
    if (kept.has(key)) {
      setState({ key, value: kept.get(key) as T, error: undefined })
      return
    }
    const gone = new AbortController()
    load(gone.signal).then(
      (value) => {
        if (gone.signal.aborted) return
        // What a refused request left open may be answered the next time.
        if (keeps && value !== undefined) keep(key, value)
        setState({ key, value, error: undefined })
      },
      (error: unknown) => {
        if (!gone.signal.aborted) setState({ key, value: undefined, error })
      },
    )
    return () => gone.abort()
  }, [key, round, tokens])
  const isNow = state.key === key
  const here = key !== undefined && kept.has(key) ? (kept.get(key) as T) : undefined
  const reload = (): void => {
    if (key !== undefined) kept.delete(key)
    // A value stays until the next one is there.
    setState((before) => (before.error === undefined ? before : { key: undefined, value: undefined, error: undefined }))
    setRound(round + 1)
  }
  return { value: isNow ? state.value : here, error: isNow ? state.error : undefined, reload }
}
