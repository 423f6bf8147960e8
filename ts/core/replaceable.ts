// A core that another one can replace while requests continue: its users call the new one from then
// on.
import { jsonOf } from './chunks.ts'
import { CoreDecorator } from './decorator.ts'
import { CoreError } from './error.ts'
import type { Core, CoreCaller, Operations } from './port.ts'

/** The events of the core. */
interface Page {
  readonly next: number
  readonly missed: number
  readonly events: readonly unknown[]
}

const encoder = new TextEncoder()

/** Which core it is now, and how many events those before it had. */
class Place {
  core: Core
  eventsBefore = 0

  constructor(core: Core) {
    this.core = core
  }
}

/** What is done to the chain as a whole. */
export type Whole = { readonly [K in 'resetTo' | 'moveOrigin' | 'originUrl']: NonNullable<Core[K]> }

/** Makes a core that can be replaced, which `resetTo` may do. */
export function replaceable(core: Core, whole: Whole): { readonly core: Core; readonly replace: (next: Core) => Promise<Core> } {
  const place = new Place(core)
  return { core: new ReplaceableCore(place, whole), replace: (next) => replace(place, next) }
}

/** The former core. Its unread events are not reported any more. */
async function replace(place: Place, next: Core): Promise<Core> {
  const last = place.core
  const { next: events } = jsonOf<Page>(await last.events(Number.MAX_SAFE_INTEGER, false))
  place.eventsBefore += events
  place.core = next
  return last
}

class ReplaceableCore extends CoreDecorator {
  private readonly whole: Whole
  private readonly place: Place
  private readonly caller: CoreCaller | undefined

  constructor(place: Place, whole: Whole, caller?: CoreCaller) {
    super()
    this.place = place
    this.whole = whole
    this.caller = caller
  }

  protected get core(): Core {
    const { core } = this.place
    return this.caller === undefined ? core : (core.withCaller?.(this.caller) ?? core)
  }

  protected inName(): Core {
    return this
  }

  /** Users keep this function, so it calls the current core. */
  override get readyTrace(): Core['readyTrace'] {
    if (this.place.core.readyTrace === undefined) return undefined
    return (wanted, options) => this.place.core.readyTrace?.(wanted, options)
  }

  override withCaller(caller: CoreCaller): Core {
    return new ReplaceableCore(this.place, this.whole, caller)
  }

  override get resetTo(): Whole['resetTo'] {
    return (forking) => this.whole.resetTo(forking)
  }

  override get moveOrigin(): Whole['moveOrigin'] {
    return (url) => this.whole.moveOrigin(url)
  }

  override get originUrl(): Whole['originUrl'] {
    return () => this.whole.originUrl()
  }

  /**
   * A failure of a core that was closed during a request reports the replacement; the next attempt
   * calls the new core.
   */
  private explain(e: unknown, asked: Core): unknown {
    const isGone = e instanceof CoreError && e.kind === 'closed' && this.place.core !== asked
    return isGone ? new CoreError('execution_failed', 'the chain was replaced by another one during this request: send it again') : e
  }

  override request<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> | string {
    const asked = this.place.core
    const answer = this.core.request(op, args)
    return typeof answer === 'string'
      ? answer
      : answer.catch((e: unknown) => {
          throw this.explain(e, asked)
        })
  }

  override async events(after: number, wait: boolean): Promise<Uint8Array> {
    const { core: asked, eventsBefore } = this.place
    let page: Uint8Array
    try {
      page = await asked.events(Math.max(0, after - eventsBefore), wait)
    } catch (e) {
      if (this.place.core === asked) throw e
      // Who waited at the last core begins with the new one.
      return encoder.encode(JSON.stringify({ next: this.place.eventsBefore, missed: 0, events: [] }))
    }
    if (eventsBefore === 0) return page
    const { next, missed, events } = jsonOf<Page>(page)
    return encoder.encode(JSON.stringify({ next: next + eventsBefore, missed, events }))
  }
}
