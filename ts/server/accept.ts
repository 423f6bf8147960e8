// Content negotiation for compression (RFC 9110, section 12.5.3).

/** Whether an answer is sent as it is or as gzip. */
export type Encoding = 'identity' | 'gzip'

/** A weight from 0 to 1; one that does not read counts as 0, since it asks for nothing clearly. */
function weight(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const found = /^\s*q\s*=\s*(.*?)\s*$/i.exec(parameter)
    if (found) return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(found[1] as string) ? Number(found[1]) : 0
  }
  return 1
}

/** Weights by coding, lower case. */
function weights(header: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const entry of header.split(',')) {
    const [coding, ...parameters] = entry.split(';')
    const name = (coding as string).trim().toLowerCase()
    if (name !== '') found.set(name === 'x-gzip' ? 'gzip' : name, weight(parameters))
  }
  return found
}

/**
 * The encoding of an answer. gzip where the client accepts it at least as much as identity and the answer is large, or where identity is
 * forbidden; identity everywhere else, also where a client forbids both, since an answer is better than none.
 */
export function negotiate(header: string | undefined, large: boolean): Encoding {
  if (header === undefined) return 'identity'
  const asked = weights(header)
  const any = asked.get('*')
  const gzip = asked.get('gzip') ?? any ?? 0
  if (gzip === 0) return 'identity'
  const identity = asked.get('identity')
  if (identity === 0 || (identity === undefined && any === 0)) return 'gzip'
  return large && gzip >= (identity ?? 0) ? 'gzip' : 'identity'
}
