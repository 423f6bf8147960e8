// Content negotiation for compression (RFC 9110, section 12.5.3).

/** Whether an answer is sent as it is or as gzip. */
export type Encoding = 'identity' | 'gzip'

/** A weight from 0 to 1; an invalid one counts as 0, since it does not clearly accept anything. */
function weight(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const found = /^\s*q\s*=\s*(.*?)\s*$/i.exec(parameter)
    if (found) return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(found[1] as string) ? Number(found[1]) : 0
  }
  return 1
}

/** What a header says of the codings that there are. */
interface Accepted {
  readonly gzip: number
  /** Undefined where it is not named. */
  readonly identity: number | undefined
  /** Whether what is not named is forbidden. */
  readonly noOther: boolean
}

function read(header: string): Accepted {
  const found = new Map<string, number>()
  for (const entry of header.split(',')) {
    const [coding, ...parameters] = entry.split(';')
    const name = (coding as string).trim().toLowerCase()
    if (name !== '') found.set(name === 'x-gzip' ? 'gzip' : name, weight(parameters))
  }
  const any = found.get('*')
  return { gzip: found.get('gzip') ?? any ?? 0, identity: found.get('identity'), noOther: any === 0 }
}

/** Headers that are remembered: a handful of programs make almost all requests. */
const REMEMBERED_MAX = 64

const remembered = new Map<string, Accepted>()

function parsed(header: string): Accepted {
  let found = remembered.get(header)
  if (found === undefined) {
    found = read(header)
    if (remembered.size >= REMEMBERED_MAX) remembered.clear()
    remembered.set(header, found)
  }
  return found
}

/**
 * The encoding of an answer: gzip if the client accepts it at least as much as identity and the
 * answer is large, or if identity is forbidden. Otherwise identity, even if a client forbids both,
 * since an answer is better than none.
 */
export function negotiate(header: string | undefined, large: boolean): Encoding {
  if (header === undefined) return 'identity'
  const { gzip, identity, noOther } = parsed(header)
  if (gzip === 0) return 'identity'
  if (identity === 0 || (identity === undefined && noOther)) return 'gzip'
  return large && gzip >= (identity ?? 0) ? 'gzip' : 'identity'
}
