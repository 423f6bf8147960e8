// The configuration of a trace: the second parameter of debug_traceTransaction.
import { BadValue, type Codec, kindOf, object } from './codec.ts'

/** An object whose `tracer` is a name or a script; what is inside `tracerConfig` is the tracer's own matter. */
export const traceConfig: Codec<Record<string, unknown>> = (value) => {
  const config = object(value)
  for (const name of ['tracer', 'timeout']) {
    const entry = config[name]
    if (entry !== undefined && entry !== null && typeof entry !== 'string')
      throw new BadValue(`cannot use ${kindOf(entry)} as a string`, name)
  }
  return config
}

/** The configuration with the node's time limit where it names none. */
export const withTimeout = (config: Record<string, unknown> | undefined, timeoutMs: number): Record<string, unknown> => ({
  ...config,
  timeout: config?.timeout ?? `${timeoutMs}ms`,
})
