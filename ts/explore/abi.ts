// Signatures out of ABIs as JSON.
import { BadSignature, SIGNATURES_MAX } from './names.ts'

/** An entry of an ABI as Solidity writes it; undefined for what has no selector. */
function signatureOf(entry: unknown): string | undefined {
  const { type, name, inputs, outputs } = entry as { type?: unknown; name?: unknown; inputs?: unknown; outputs?: unknown }
  if ((type !== 'function' && type !== 'error' && type !== 'event') || typeof name !== 'string' || !/^[\w$]+$/.test(name)) return undefined
  const [given, returned] = [parametersText(inputs, type === 'event'), parametersText(outputs ?? [], false)]
  if (given === undefined) return undefined
  return `${type} ${name}(${given})${type === 'function' && returned ? ` returns (${returned})` : ''}`
}

/**
 * Parameters of an ABI as text; undefined where one does not read. Tuples nest as deep as
 * Solidity's compiler lets them.
 */
function parametersText(parameters: unknown, isEvent: boolean, depth = 0): string | undefined {
  if (!Array.isArray(parameters) || depth > TUPLE_DEPTH_MAX) return undefined
  const parts = parameters.map((parameter) => {
    const { type, name, components, indexed } = parameter as { type?: unknown; name?: unknown; components?: unknown; indexed?: unknown }
    if (typeof type !== 'string' || !/^[a-z0-9]+(\[\d*\])*$/.test(type)) return undefined
    const inner = type.startsWith('tuple') ? parametersText(components, false, depth + 1) : ''
    if (inner === undefined) return undefined
    const written = type.startsWith('tuple') ? `(${inner})${type.slice('tuple'.length)}` : type
    const called = typeof name === 'string' && /^[\w$]+$/.test(name) ? ` ${name}` : ''
    return `${written}${isEvent && indexed === true ? ' indexed' : ''}${called}`
  })
  return parts.includes(undefined) ? undefined : parts.join(', ')
}

/** Tuples within tuples that are read of an ABI. */
const TUPLE_DEPTH_MAX = 16

/**
 * Signatures of an ABI as JSON, or of an artifact that has one. Throws `BadSignature` where it is
 * neither.
 */
export function signaturesOfAbi(text: string): string[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (e) {
    throw new BadSignature('the file is no JSON', { cause: e })
  }
  const abi = Array.isArray(parsed) ? parsed : (parsed as { abi?: unknown } | null)?.abi
  if (!Array.isArray(abi)) throw new BadSignature('the file is no ABI, and no artifact with one')
  return signaturesOfEntries(abi)
}

/** Signatures of an ABI; entries that do not read are passed over. */
export function signaturesOfEntries(abi: unknown): string[] {
  const entries = Array.isArray(abi) ? abi.slice(0, SIGNATURES_MAX) : []
  return entries.flatMap((entry) => (typeof entry === 'object' && entry !== null ? (signatureOf(entry) ?? []) : []))
}
