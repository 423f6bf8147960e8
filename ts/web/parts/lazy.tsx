// Components whose file is loaded when they are first shown.
import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Wait } from './small.tsx'
import { Trouble } from './trouble.tsx'

/** A component that loads another one and shows it; a quiet one shows nothing until then. */
export function late<P extends object>(load: () => Promise<ComponentType<P>>, isQuiet = false): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function Late(props: P): JSX.Element {
    const [, setRound] = useState(0)
    const [error, setError] = useState<unknown>()
    useEffect(() => {
      if (loaded !== undefined) return
      load().then(
        (component) => {
          loaded = component
          setRound(1)
        },
        (e: unknown) => setError(e),
      )
    }, [])
    if (error !== undefined) return <Trouble error={error} />
    const Loaded = loaded
    if (Loaded !== undefined) return <Loaded {...props} />
    return isQuiet ? <></> : <Wait what="Opening the view" />
  }
}
