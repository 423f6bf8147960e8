// The protocol of pushes by OTLP, as the variables of OpenTelemetry name it
// (opentelemetry.io/docs/specs/otel/protocol/exporter). Known before a node starts: a push that no
// collector takes would show only later.

/** The protocols that pushes use; the first one where no variable names one. */
export const OTLP_PROTOCOLS = ['http/protobuf', 'http/json'] as const

/** A protocol. */
export type OtlpProtocol = (typeof OTLP_PROTOCOLS)[number]

/** What is pushed, as the variables name it. */
export type Signal = 'METRICS' | 'TRACES'

/** Characters of a value that a message shows. */
const SHOWN_CHARACTERS_MAX = 64

/** A variable that cannot be used. */
export interface ProtocolProblem {
  readonly where: string
  readonly message: string
}

/** The variable of one signal prevails over that of all; an empty one is unset. */
function named(signal: Signal): { readonly where: string; readonly value: string } | undefined {
  for (const where of [`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    const value = process.env[where]?.trim()
    if (value) return { where, value }
  }
  return undefined
}

const isKnown = (value: string): value is OtlpProtocol => (OTLP_PROTOCOLS as readonly string[]).includes(value)

/** Why pushes of a signal cannot be made; undefined where they can. */
export function protocolProblem(signal: Signal): ProtocolProblem | undefined {
  const found = named(signal)
  if (found === undefined || isKnown(found.value)) return undefined
  const shown = JSON.stringify(found.value.slice(0, SHOWN_CHARACTERS_MAX))
  const right = OTLP_PROTOCOLS.join(' or ')
  return { where: found.where, message: `is ${shown}: set ${right}, which collectors take at port 4318` }
}

/** The protocol of a signal; throws for one that is not supported. */
export function otlpProtocol(signal: Signal): OtlpProtocol {
  const value = named(signal)?.value ?? OTLP_PROTOCOLS[0]
  if (isKnown(value)) return value
  const problem = protocolProblem(signal)
  throw new Error(`${problem?.where} ${problem?.message}`)
}
