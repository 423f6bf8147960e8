// Messages of protobuf by tables of their fields: written, read, and as JSON
// (https://protobuf.dev/programming-guides/encoding, …/json).

/** Encoding of a field in protobuf and in the JSON of CometBFT. */
export type Kind =
  | 'string'
  | 'bool'
  | 'int64'
  | 'uint64'
  | 'int32'
  | 'uint32'
  /** Bytes; hex digits in the JSON of CometBFT, base64 in that of gRPC. */
  | 'hex'
  /** Bytes; base64 in both. */
  | 'base64'
  /** RFC 3339 in JSON, a Timestamp in protobuf. */
  | 'time'
  /** A number with 18 decimals: in protobuf its whole number of atoms as text. */
  | 'dec'
  /** `{type, value}` of any message of the registry. */
  | 'any'
  | { readonly names: readonly string[] }
  | { readonly of: Schema }

/** One field. */
export interface Field {
  readonly n: number
  readonly kind: Kind
  readonly repeated?: true
  /** Its name in the JSON of CometBFT, where that is another one. */
  readonly from?: string
}

/** A message: its fields by name, in the order of JSON. */
export interface Schema {
  readonly [name: string]: Field
}

/** Values of a message by the names of CometBFT's JSON. */
export type Values = Readonly<Record<string, unknown>>

/** A message that stands in a field of kind `any`: its values with the name of its type. */
export interface AnyValue {
  readonly type: string
  readonly schema: Schema
  readonly values: Values
}

/** Deepest nesting that is read. */
const DEPTH_MAX = 16

/** Bytes that are no message of the table. */
export class WireError extends Error {
  override name = 'WireError'
}

const VARINT = 0
const BYTES = 2
const ATOMS = 18

/** A number of a 64-bit field as its unsigned bits. */
const bits = (value: unknown): bigint => BigInt.asUintN(64, BigInt((value as string | number) || 0))

function varint(value: bigint): Buffer {
  const out: number[] = []
  let left = value
  for (; left > 127n; left >>= 7n) out.push(Number(left & 127n) | 128)
  out.push(Number(left))
  return Buffer.from(out)
}

const tagged = (n: number, wire: number, body: Buffer): Buffer =>
  Buffer.concat([varint(BigInt(n * 8 + wire)), ...(wire === BYTES ? [varint(BigInt(body.length))] : []), body])

const NANOS = 1_000_000_000

/** Seconds and nanoseconds of a time, the second ones from 0. */
function timestamp(text: string): readonly [seconds: bigint, nanos: number] {
  const [, whole, fraction = ''] = /^(.*?)(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? []
  const zone = /(Z|[+-]\d\d:\d\d)$/.exec(text)?.[1]
  const ms = Date.parse(`${whole}${zone}`)
  if (Number.isNaN(ms)) throw new WireError(`no time: ${text.slice(0, 40)}`)
  return [BigInt(ms / 1000), Number(fraction.padEnd(9, '0').slice(0, 9)) % NANOS]
}

const TIMESTAMP: Schema = { seconds: { n: 1, kind: 'int64' }, nanos: { n: 2, kind: 'int32' } }

/** A number with 18 decimals as whole atoms, and back. */
const atomsOf = (text: string): string => {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(ATOMS, '0').slice(0, ATOMS)).toString()
}
const decimalOf = (atoms: string): string => {
  const digits = atoms.padStart(ATOMS + 1, '0')
  return `${digits.slice(0, -ATOMS)}.${digits.slice(-ATOMS)}`
}

/** One value of a field; undefined where it is the default one, which is not written. */
function encodeValue({ n, kind }: Field, value: unknown): Buffer | undefined {
  if (value === undefined || value === null) return undefined
  const bytes = (body: Buffer): Buffer => tagged(n, BYTES, body)
  if (kind === 'any') {
    const { type, schema, values } = value as AnyValue
    return bytes(Buffer.concat([tagged(1, BYTES, Buffer.from(type)), tagged(2, BYTES, encode(schema, values))]))
  }
  if (kind === 'time') {
    const [seconds, nanos] = timestamp(value as string)
    return bytes(encode(TIMESTAMP, { seconds: String(seconds), nanos }))
  }
  if (typeof kind === 'object' && 'of' in kind) return bytes(encode(kind.of, value as Values))
  if (kind === 'string' || kind === 'dec') {
    const text = kind === 'dec' && value !== '' ? atomsOf(value as string) : (value as string)
    return text === '' ? undefined : bytes(Buffer.from(text))
  }
  if (kind === 'hex' || kind === 'base64') {
    const body = Buffer.from(value as string, kind)
    return body.length === 0 ? undefined : bytes(body)
  }
  const number = bits(kind === 'bool' ? Number(value) : value)
  return number === 0n ? undefined : tagged(n, VARINT, varint(number))
}

/** A message as bytes. */
export function encode(schema: Schema, values: Values): Buffer {
  const parts: Buffer[] = []
  for (const [name, field] of Object.entries(schema)) {
    const value = values[field.from ?? name]
    if (field.repeated !== true) {
      const part = encodeValue(field, value)
      if (part !== undefined) parts.push(part)
      continue
    }
    // An element that is a default value stands there all the same.
    for (const one of (value ?? []) as unknown[]) parts.push(encodeValue(field, one) ?? tagged(field.n, BYTES, Buffer.alloc(0)))
  }
  return Buffer.concat(parts)
}

/** One value as JSON; the default where it is absent. */
function jsonValue(kind: Kind, value: unknown): unknown {
  if (kind === 'any') {
    if (value === undefined || value === null) return null
    const { type, schema, values } = value as AnyValue
    return { '@type': type, ...(toJson(schema, values) as object) }
  }
  if (typeof kind === 'object' && 'of' in kind) return value === undefined || value === null ? null : toJson(kind.of, value as Values)
  if (typeof kind === 'object') return kind.names[Number(value ?? 0)] ?? Number(value)
  if (kind === 'bool') return value === true
  if (kind === 'int64' || kind === 'uint64') return String(value ?? 0)
  if (kind === 'int32' || kind === 'uint32') return Number(value ?? 0)
  // Bytes that are null in the JSON of CometBFT, or no further page: gateways write null too.
  if (kind === 'base64' && value === null) return null
  if (kind === 'hex') return Buffer.from((value as string | undefined) ?? '', 'hex').toString('base64')
  if (kind === 'time') return value ?? null
  return value ?? ''
}

/**
 * A message as the JSON of gRPC gateways: 64-bit numbers as text, bytes in base64, defaults written
 * out.
 */
export function toJson(schema: Schema, values: Values): unknown {
  const out: Record<string, unknown> = {}
  for (const [name, { kind, repeated, from }] of Object.entries(schema)) {
    const value = values[from ?? name]
    out[name] = repeated === true ? ((value ?? []) as unknown[]).map((one) => jsonValue(kind, one)) : jsonValue(kind, value)
  }
  return out
}

/** Reads a varint; its value and where it ends. */
function readVarint(bytes: Buffer, from: number): readonly [value: bigint, end: number] {
  let value = 0n
  for (let i = 0; i < 10; i++) {
    const byte = bytes[from + i]
    if (byte === undefined) throw new WireError('the message ends within a number')
    value |= BigInt(byte & 127) << BigInt(7 * i)
    if (byte < 128) return [BigInt.asUintN(64, value), from + i + 1]
  }
  throw new WireError('a number has more than 64 bits')
}

/** Types that stand in fields of kind `any`, by name. */
export type Registry = ReadonlyMap<string, Schema>

const ANY: Schema = { type: { n: 1, kind: 'string' }, value: { n: 2, kind: 'base64' } }

function decodeValue(kind: Kind, body: Buffer, registry: Registry, depth: number): unknown {
  if (typeof kind === 'object' && 'of' in kind) return decode(kind.of, body, registry, depth + 1)
  if (kind === 'any') {
    const { type = '', value = '' } = decode(ANY, body, registry, depth + 1) as { type?: string; value?: string }
    const schema = registry.get(type)
    if (schema === undefined) throw new WireError(`unknown type ${type.slice(0, 100)}`)
    return { type, schema, values: decode(schema, Buffer.from(value, 'base64'), registry, depth + 1) }
  }
  if (kind === 'string') return body.toString()
  if (kind === 'dec') return decimalOf(body.toString())
  if (kind === 'hex' || kind === 'base64') return body.toString(kind)
  throw new WireError('a number was expected')
}

function decodeNumber(kind: Kind, value: bigint): unknown {
  if (kind === 'bool') return value !== 0n
  if (kind === 'int64' || kind === 'int32') return String(BigInt.asIntN(64, value))
  if (kind === 'uint64' || kind === 'uint32') return String(value)
  if (typeof kind === 'object' && 'names' in kind) return Number(value)
  throw new WireError('no number was expected')
}

/**
 * The values of a message; fields that the table does not have are passed over. Throws `WireError`.
 */
export function decode(schema: Schema, bytes: Buffer, registry: Registry = new Map(), depth = 0): Values {
  if (depth > DEPTH_MAX) throw new WireError(`messages are nested more than ${DEPTH_MAX} deep`)
  const byNumber = new Map(Object.entries(schema).map(([name, field]) => [field.n, [field.from ?? name, field] as const]))
  const values: Record<string, unknown> = {}
  for (let at = 0; at < bytes.length; ) {
    const [tag, after] = readVarint(bytes, at)
    const [wire, found] = [Number(tag & 7n), byNumber.get(Number(tag >> 3n))]
    let value: unknown
    if (wire === VARINT) {
      const [number, end] = readVarint(bytes, after)
      at = end
      value = found && decodeNumber(found[1].kind, number)
    } else if (wire === BYTES) {
      const [length, start] = readVarint(bytes, after)
      const end = start + Number(length)
      if (end > bytes.length) throw new WireError('the message ends within a field')
      at = end
      value = found && decodeValue(found[1].kind, bytes.subarray(start, end), registry, depth)
    } else if (wire === 1 || wire === 5) at = after + (wire === 1 ? 8 : 4)
    else throw new WireError(`unknown wire type ${wire}`)
    if (found === undefined) continue
    const [name, { repeated }] = found
    if (repeated !== true) values[name] = value
    else if (Array.isArray(values[name])) (values[name] as unknown[]).push(value)
    else values[name] = [value]
  }
  return values
}
