// The part of isolated-vm's interface that the child uses, and how it is loaded: the file of its
// library is named on the command line.
import { createRequire } from 'node:module'

export interface Reference {
  applySync(self: undefined, args: readonly unknown[]): unknown
  release(): void
}

export interface Context {
  release(): void
}

export interface Script {
  runSync(context: Context, options: { reference: true }): Reference
}

export interface Isolate {
  readonly isDisposed: boolean
  compileScriptSync(code: string, options: { filename: string }): Script
  createContextSync(): Context
  getHeapStatisticsSync(): { readonly total_heap_size: number; readonly externally_allocated_size: number }
  dispose(): void
}

interface Copy {
  copyInto(options: { release: boolean; transferIn: boolean }): unknown
}

export interface IsolatedVm {
  readonly Isolate: new (options: { memoryLimit: number }) => Isolate
  readonly Callback: new (call: (...args: never[]) => unknown) => object
  readonly ExternalCopy: new (value: ArrayBuffer, options: { transferOut: boolean }) => Copy
}

/** Loads the library in `file`. */
export function loadIsolatedVm(file: string): IsolatedVm {
  return (createRequire(import.meta.url)(file) as { ivm: IsolatedVm }).ivm
}
