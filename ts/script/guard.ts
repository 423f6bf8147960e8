// A core that refuses once its node was closed, also while other users of this process continue
// with it.
import { CoreDecorator } from '../core/decorator.ts'
import type { Core } from '../core/port.ts'
import { closed } from './errors.ts'

/** The same core until `isClosed`; then every call throws `ClosedError`. */
export const guarded = (core: Core, isClosed: () => boolean): Core => new GuardedCore(core, isClosed)

class GuardedCore extends CoreDecorator {
  private readonly inner: Core
  private readonly isClosed: () => boolean

  constructor(core: Core, isClosed: () => boolean) {
    super()
    this.inner = core
    this.isClosed = isClosed
  }

  protected get core(): Core {
    if (this.isClosed()) throw closed()
    return this.inner
  }

  protected inName(core: Core): Core {
    return new GuardedCore(core, this.isClosed)
  }

  // What may be used after the end.
  override get dev(): boolean {
    return this.inner.dev
  }

  override metricsSnapshot(): string {
    return this.inner.metricsSnapshot()
  }

  override close(): Promise<void> {
    return this.inner.close()
  }
}
