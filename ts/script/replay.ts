// Traces of files: recorded blocks, and tracer tests in the format of go-ethereum.
import path from 'node:path'
import type { Settings } from '../config/index.ts'
import { startReplay } from '../core/native.ts'
import type { JsonObject } from '../core/port.ts'
import { scriptsConfig } from '../node/node-config.ts'
import { type AbortOptions, checkSignal } from './abort-options.ts'
import { hearthError } from './errors.ts'

/** How to replay a file. */
export interface ReplayOptions extends Pick<AbortOptions, 'signal'> {
  /**
   * Configurations, each the second parameter of debug_traceTransaction. Default: the struct
   * logger.
   */
  readonly traces?: readonly JsonObject[] | undefined
  /** Position of the only transaction that is wanted; all of a block where absent. */
  readonly tx?: number | undefined
}

/** The trace of a file under one configuration. */
export interface Replayed {
  /** Place of the configuration among those that were given. */
  readonly trace: number
  /** What debug_traceTransaction, or debug_traceBlockByNumber for a whole block, would answer. */
  readonly result: unknown
  /** Why there is no result. */
  readonly error: { readonly code: number; readonly message: string } | undefined
}

/** Lines of a text that comes in chunks. */
class Lines {
  private rest = ''
  private readonly decoder = new TextDecoder()

  take(chunk: Uint8Array): string[] {
    const lines = (this.rest + this.decoder.decode(chunk, { stream: true })).split('\n')
    this.rest = lines.pop() ?? ''
    return lines
  }

  end(): string[] {
    return this.rest === '' ? [] : [this.rest]
  }
}

const isFailure = (value: unknown): value is { readonly error: { readonly code: number; readonly message: string } } =>
  typeof value === 'object' && value !== null && Object.keys(value).join() === 'error' && typeof (value as JsonObject).error === 'object'

function replayed(line: string, trace: number): Replayed {
  const value = JSON.parse(line) as unknown
  return isFailure(value) ? { trace, result: undefined, error: value.error } : { trace, result: value, error: undefined }
}

/** Traces a file, one result for each configuration. */
export async function* replay(
  file: string,
  { traces = [], tx, signal }: ReplayOptions,
  settings: Settings,
): AsyncGenerator<Replayed, void, undefined> {
  checkSignal({ signal })
  const stream = startReplay({ files: [path.resolve(file)], traces, tx, scripts: scriptsConfig(settings) })
  const cancel = (): void => stream.cancel()
  signal?.addEventListener('abort', cancel, { once: true })
  const lines = new Lines()
  let trace = 0
  try {
    for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) {
      for (const line of lines.take(chunk)) yield replayed(line, trace++)
    }
    for (const line of lines.end()) yield replayed(line, trace++)
  } catch (e) {
    // The line of a failed trace has its error already.
    const isTold = trace >= Math.max(1, traces.length)
    if (signal?.aborted === true) throw signal.reason
    if (!isTold) throw hearthError(e)
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
}
