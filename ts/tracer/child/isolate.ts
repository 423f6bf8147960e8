// Isolates, each with a context made ahead; a context serves one transaction and is never used
// again.
import type { Context, Isolate, IsolatedVm, Reference, Script } from './isolated-vm.ts'

/** The one function of the inside. */
export type Inside = Reference

/** Bytes of a MiB: the unit in which an isolate's memory is bounded. */
const MIB = 1024 * 1024
/** The engine needs this many MiB to start at all. */
const LEAST_MEMORY_MIB = 16

/** The calls of the inside that seal its realm and warm it up. */
const SEAL = 3
const WARM = 4

/** A context that no script has seen. */
export interface Fresh {
  readonly context: Context
  readonly inside: Inside
}

/** One isolate, with at most one context ready beforehand. */
export class Cell {
  readonly isolate: Isolate
  private readonly runtimeSource: Script
  private ready: Fresh | undefined
  private seal: Fresh | 'none' | undefined

  /** `runtimeSource` is the text of the script that makes a context ready. */
  constructor(ivm: IsolatedVm, runtimeSource: string, memoryBytes: number) {
    const memoryLimit = Math.max(LEAST_MEMORY_MIB, Math.floor(memoryBytes / MIB))
    this.isolate = new ivm.Isolate({ memoryLimit })
    this.runtimeSource = this.isolate.compileScriptSync(runtimeSource, { filename: 'inside' })
  }

  /**
   * Makes the next context now, while no transaction is waiting for it. An isolate whose last
   * script left no room for one is unusable.
   */
  prepare(): void {
    if (this.ready !== undefined || this.isolate.isDisposed) return
    try {
      this.ready = this.make()
    } catch {
      this.dispose()
    }
  }

  /**
   * Compiles the functions that a transaction calls, in a context that is dropped: all contexts of
   * an isolate share bytecode, and none shares its type feedback.
   */
  warmUp(): void {
    const { context, inside } = this.make()
    inside.applySync(undefined, [WARM])
    this.drop({ context, inside })
  }

  /**
   * A context in which nothing can be changed, for consecutive transactions of this isolate;
   * undefined if there is none. It is made on first use.
   */
  sealed(): Fresh | undefined {
    if (this.seal === undefined) {
      try {
        const made = this.make()
        made.inside.applySync(undefined, [SEAL])
        this.seal = made
      } catch {
        this.seal = 'none'
      }
    }
    return this.seal === 'none' ? undefined : this.seal
  }

  /** The sealed context does not do for the script of this isolate. */
  unseal(): void {
    if (this.seal !== undefined && this.seal !== 'none') this.drop(this.seal)
    this.seal = 'none'
  }

  /** A fresh context. */
  take(): Fresh {
    const fresh = this.ready ?? this.make()
    this.ready = undefined
    return fresh
  }

  /** Gives up a context. */
  drop({ context, inside }: Fresh): void {
    if (this.isolate.isDisposed) return
    inside.release()
    context.release()
  }

  private make(): Fresh {
    const context = this.isolate.createContextSync()
    return { context, inside: this.runtimeSource.runSync(context, { reference: true }) }
  }

  /** Memory of the isolate, in bytes. */
  heapBytes(): number {
    if (this.isolate.isDisposed) return 0
    const { total_heap_size, externally_allocated_size } = this.isolate.getHeapStatisticsSync()
    return total_heap_size + externally_allocated_size
  }

  dispose(): void {
    if (!this.isolate.isDisposed) this.isolate.dispose()
  }
}
