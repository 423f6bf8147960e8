// A core that refuses once its node was closed, also where others of this process go on with it.
import type { Core } from '../core/port.ts'
import { closed } from './errors.ts'

/** What may be used after the end. */
const ALWAYS: ReadonlySet<string | symbol> = new Set(['close', 'dev', 'metricsSnapshot'])

/** The same core until `isClosed` says so; then every call throws `ClosedError`. */
export function guarded(core: Core, isClosed: () => boolean): Core {
  const bound = new Map<string | symbol, unknown>()
  const member = (name: string | symbol): unknown => {
    const value: unknown = Reflect.get(core, name, core)
    return typeof value === 'function' ? value.bind(core) : value
  }
  return new Proxy(core, {
    get(_, name) {
      if (isClosed() && !ALWAYS.has(name)) throw closed()
      if (!bound.has(name)) bound.set(name, member(name))
      return bound.get(name)
    },
  })
}
