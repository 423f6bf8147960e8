// Listeners whose modules are loaded with the first request that needs them, so that they do not
// slow down the start.
import type { RequestListener } from 'node:http'

/** Loads a listener with its first request. A request that comes while it loads waits. */
export function lazyListener(load: () => Promise<RequestListener>, report: (e: unknown) => void): RequestListener {
  let loaded: Promise<RequestListener> | undefined
  return (request, response) => {
    loaded ??= load()
    loaded.then(
      (listener) => listener(request, response),
      (e: unknown) => {
        loaded = undefined
        report(e)
        response.destroy()
      },
    )
  }
}
