// A core in front of another one.
import type { Core, CoreCaller, CoreLogEntry, HomeStatus, Operations, ResultStream, StreamOperations } from './port.ts'

/**
 * Passes everything to another core. Subclasses override what they change; what the other core
 * lacks is undefined here too.
 */
export abstract class CoreDecorator implements Core {
  /** The core behind this one, at this moment. */
  protected abstract get core(): Core

  /** This decorator in front of the same core in a client's name. */
  protected abstract inName(core: Core): Core

  get dev(): boolean {
    return this.core.dev
  }

  request<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> | string {
    return this.core.request(op, args)
  }

  stream<Op extends keyof StreamOperations>(op: Op, args: StreamOperations[Op]): ResultStream {
    return this.core.stream(op, args)
  }

  withCaller(caller: CoreCaller): Core {
    const asked = this.core.withCaller?.(caller)
    return asked === undefined ? this : this.inName(asked)
  }

  get readyTrace(): Core['readyTrace'] {
    return this.core.readyTrace
  }

  get scripted(): Core['scripted'] {
    return this.core.scripted
  }

  get resetTo(): Core['resetTo'] {
    return this.core.resetTo?.bind(this.core)
  }

  get moveOrigin(): Core['moveOrigin'] {
    return this.core.moveOrigin?.bind(this.core)
  }

  get originUrl(): Core['originUrl'] {
    return this.core.originUrl?.bind(this.core)
  }

  get follow(): Core['follow'] {
    return this.core.follow
  }

  get status(): (() => HomeStatus | undefined) | undefined {
    return this.core.status?.bind(this.core)
  }

  events(after: number, wait: boolean): Promise<Uint8Array> {
    return this.core.events(after, wait)
  }

  metricsSnapshot(): string {
    return this.core.metricsSnapshot()
  }

  takeLog(): readonly CoreLogEntry[] {
    return this.core.takeLog()
  }

  close(): Promise<void> {
    return this.core.close()
  }
}
