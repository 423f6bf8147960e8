// Data of a call out of a signature and arguments as text, as `cast` takes them.
import { AbiFunction } from 'ox'
import { amountOf, BadWhatIf } from './what-if.ts'

/** Arrays and tuples within each other that are read. */
const DEPTH_MAX = 16

/** Elements of one array or tuple. */
const ELEMENTS_MAX = 4096

interface Parameter {
  readonly type: string
  readonly name?: string | undefined
  readonly components?: readonly Parameter[] | undefined
}

/** The parts between brackets; commas within brackets and quotes part nothing. */
function partsOf(text: string, open: string, close: string, what: string): string[] {
  if (!text.startsWith(open) || !text.endsWith(close)) throw new BadWhatIf(`${what} takes ${open}…${close}, not ${quoted(text)}`)
  const inner = text.slice(1, -1)
  if (inner.trim() === '') return []
  const parts: string[] = []
  let [depth, from, isQuoted] = [0, 0, false]
  for (let i = 0; i < inner.length; i++) {
    const c = inner[i] as string
    if (isQuoted) {
      if (c === '\\') i++
      else if (c === '"') isQuoted = false
    } else if (c === '"') isQuoted = true
    else if ('[('.includes(c)) depth++
    else if ('])'.includes(c)) depth--
    else if (c === ',' && depth === 0) {
      parts.push(inner.slice(from, i).trim())
      from = i + 1
    }
  }
  parts.push(inner.slice(from).trim())
  if (parts.length > ELEMENTS_MAX) throw new BadWhatIf(`${what} has ${parts.length} elements, at most ${ELEMENTS_MAX} are taken`)
  return parts
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 60))

function textOf(text: string, what: string): string {
  if (!text.startsWith('"')) return text
  try {
    return String(JSON.parse(text))
  } catch {
    throw new BadWhatIf(`${what} takes text, or a JSON string, not ${quoted(text)}`)
  }
}

function integerOf(text: string, what: string): bigint {
  const isNegative = text.startsWith('-')
  const n = BigInt(amountOf(isNegative ? text.slice(1) : text, what))
  return isNegative ? -n : n
}

function bytesOf(text: string, type: string, what: string): string {
  const bytes = type === 'bytes' ? undefined : Number(type.slice('bytes'.length))
  const isRight = /^0x([0-9a-fA-F]{2})*$/.test(text) && (bytes === undefined || text.length === 2 + 2 * bytes)
  if (!isRight)
    throw new BadWhatIf(`${what} takes ${bytes === undefined ? 'bytes' : `${bytes} bytes`} in hex behind 0x, not ${quoted(text)}`)
  return text
}

/** A value of a type as `ox` takes it. */
function argumentOf({ type, components = [] }: Parameter, text: string, what: string, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw new BadWhatIf(`${what} nests more than ${DEPTH_MAX} deep`)
  const [, element, count] = /^(.*)\[(\d*)\]$/s.exec(type) ?? []
  if (element !== undefined) {
    const parts = partsOf(text, '[', ']', what)
    if (count !== '' && parts.length !== Number(count)) throw new BadWhatIf(`${what} takes ${count} elements, and has ${parts.length}`)
    return parts.map((part) => argumentOf({ type: element, components }, part, what, depth + 1))
  }
  if (type === 'tuple') {
    const parts = partsOf(text, '(', ')', what)
    if (parts.length !== components.length) throw new BadWhatIf(`${what} takes ${components.length} members, and has ${parts.length}`)
    const values = components.map((component, i) => argumentOf(component, parts[i] as string, what, depth + 1))
    return components.every(({ name }) => name) ? Object.fromEntries(components.map(({ name }, i) => [name, values[i]])) : values
  }
  if (type === 'address') {
    if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new BadWhatIf(`${what} takes an address, 0x and 40 hex digits, not ${quoted(text)}`)
    return text.toLowerCase()
  }
  if (type === 'bool') {
    if (text !== 'true' && text !== 'false') throw new BadWhatIf(`${what} takes true or false, not ${quoted(text)}`)
    return text === 'true'
  }
  if (type === 'string') return textOf(text, what)
  if (type.startsWith('bytes')) return bytesOf(text, type, what)
  return integerOf(text, what)
}

/**
 * Data of a call: `signature` as Solidity writes it (`f(uint256)`), each argument as text: numbers
 * (`5`, `0x5`, `1.5 ether`), addresses, `true`, bytes in hex, `[1,2]`, `(1,"a")`. Throws
 * `BadWhatIf`.
 */
export function callData(signature: string, args: readonly string[]): string {
  const written = /^function\s/.test(signature) ? signature : `function ${signature}`
  let item: AbiFunction.AbiFunction
  try {
    item = AbiFunction.from(written as never) as AbiFunction.AbiFunction
  } catch {
    throw new BadWhatIf(`${quoted(signature)} is no signature such as "transfer(address to, uint256 amount)"`)
  }
  if (args.length !== item.inputs.length)
    throw new BadWhatIf(`${item.name} takes ${item.inputs.length} arguments, and ${args.length} are given`)
  const values = item.inputs.map((input, i) => {
    const called = input.name ? ` (${input.name})` : ''
    return argumentOf(input as Parameter, (args[i] as string).trim(), `argument ${i + 1}${called} of ${item.name}`)
  })
  try {
    return AbiFunction.encodeData(item, values as never)
  } catch (e) {
    throw new BadWhatIf(`an argument of ${item.name} has no room in its type: ${String((e as Error).message).split('\n')[0]}`)
  }
}
