// Gives up what a script could misuse if it broke out of V8: the core's library does it, which the
// child loads for that alone.
import { createRequire } from 'node:module'

interface Core {
  confineProcess(): number
}

/**
 * Confines this process for good with the library in `file`; the bits of the layers that hold, none
 * where there is no library.
 */
export function confineProcess(file: string | undefined): number {
  try {
    return file === undefined ? 0 : (createRequire(import.meta.url)(file) as Core).confineProcess()
  } catch {
    // The parent decides whether scripts may run without confinement, and gets the actual state.
    return 0
  }
}
