// A core with some of its members replaced.
import type { Core } from './port.ts'

/** The core with these members in place of its own; all else is the core's. */
export function coreWith(core: Core, own: Partial<Core>): Core {
  return new Proxy(core, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof Core]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
