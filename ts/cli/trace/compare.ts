// `hearth trace --compare` and `--set`: a transaction beside another one, or beside itself with
// changes on the state before it.
import {
  amountOf,
  BadWhatIf,
  buildTree,
  type Comparison,
  compareTrees,
  comparisonText,
  type Frame,
  type MinedTransaction,
  type Names,
  objectText,
  type RawFrame,
  replayOf,
  traceCallOf,
  type WhatIf,
} from '../../explore/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { overridesOf } from './call.ts'
import { coloured, hasColours } from './colour.ts'
import { type Found, TRACER, type Traced } from './found.ts'
import { type RpcCall, TraceError } from './source.ts'
import { widthOf } from './width.ts'

/** Fields that `--set` changes, and what each makes of a what-if. */
const SETTERS: Readonly<Record<string, (value: string, whatIf: WhatIf) => WhatIf>> = {
  from: (value, whatIf) => withField(whatIf, 'from', addressOf(value, 'from')),
  to: (value, whatIf) => withField(whatIf, 'to', addressOf(value, 'to')),
  data: (value, whatIf) => withField(whatIf, 'data', bytesOf(value)),
  value: (value, whatIf) => withField(whatIf, 'value', amountOf(value, 'value')),
  gas: (value, whatIf) => withField(whatIf, 'gas', amountOf(value, 'gas')),
  state: (value, whatIf) => ({ ...whatIf, stateOverrides: objectText(value, 'state', '{"0x…": {"balance": "0x1"}}') }),
  block: (value, whatIf) => ({ ...whatIf, blockOverrides: objectText(value, 'block', '{"time": "0x6553f100"}') }),
}

const withField = (whatIf: WhatIf, name: string, value: string): WhatIf => ({ ...whatIf, call: { ...whatIf.call, [name]: value } })

function addressOf(value: string, name: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(value)) throw new BadWhatIf(`${name} takes an address, 0x and 40 hex digits`)
  return value.toLowerCase()
}

function bytesOf(value: string): string {
  if (!/^0x([0-9a-fA-F]{2})*$/.test(value)) throw new BadWhatIf('data takes bytes in hex, two digits each, behind 0x')
  return value
}

/**
 * The changes of a command line as a function of what-ifs; undefined without `--set`, `--override`
 * and `--replay`.
 */
export function changesOf(parsed: Parsed): ((whatIf: WhatIf) => WhatIf) | undefined {
  if (parsed.flags.get('call') === 'true') {
    const stray = ['set', 'replay'].find((name) => parsed.lists.has(name) || parsed.flags.has(name))
    if (stray !== undefined) throw new UsageError(`--${stray} is of a mined transaction: leave --call out`)
    return undefined
  }
  const overridden = overridesOf(parsed)
  const given = parsed.lists.get('set')
  if (given === undefined && overridden === undefined && parsed.flags.get('replay') !== 'true') return undefined
  const set = settersOf(given ?? [])
  return (whatIf) => {
    const changed = set(whatIf)
    return overridden?.(changed) ?? changed
  }
}

function settersOf(given: readonly string[]): (whatIf: WhatIf) => WhatIf {
  const changes = given.map((text) => {
    const at = text.indexOf('=')
    const [field, value] = [text.slice(0, at), text.slice(at + 1)]
    const set = at > 0 && Object.hasOwn(SETTERS, field) ? SETTERS[field] : undefined
    if (set === undefined)
      throw new UsageError(`--set takes ${Object.keys(SETTERS).join('=, ')}= with a value, not ${JSON.stringify(text)}`)
    return (whatIf: WhatIf): WhatIf => set(value, whatIf)
  })
  const all = (whatIf: WhatIf): WhatIf => changes.reduce((before, change) => change(before), whatIf)
  try {
    all({ call: {}, block: 'latest' })
  } catch (e) {
    throw e instanceof BadWhatIf ? new UsageError(`--set: ${e.message}`) : e
  }
  return all
}

/** The transaction that `--compare` names; undefined without it. */
export function otherOf({ flags }: Parsed): string | undefined {
  const other = flags.get('compare')
  if (other !== undefined && !/^0x[0-9a-fA-F]{64}$/.test(other))
    throw new UsageError(`--compare takes the hash of a transaction, not ${JSON.stringify(other)}`)
  return other
}

function one({ traced, block }: Found, flag: string): Traced {
  const [only] = traced
  if (traced.length !== 1 || only === undefined)
    throw new TraceError(`${flag} is for one transaction, and block ${block} has ${traced.length}: give the hash of one`)
  return only
}

/** The second tree: of the other transaction, or of the changed one. */
export async function secondTree(
  found: Found,
  { change, other, rpc }: { change: ((whatIf: WhatIf) => WhatIf) | undefined; other: string | undefined; rpc: RpcCall },
): Promise<{ readonly top: Frame; readonly name: string }> {
  if (other !== undefined)
    return { top: buildTree((await rpc('debug_traceTransaction', other, TRACER)) as RawFrame), name: other.slice(0, 10) }
  const { hash } = one(found, '--set')
  const mined = (await rpc('eth_getTransactionByHash', hash)) as MinedTransaction
  const whatIf = (change as NonNullable<typeof change>)(replayOf(mined))
  return { top: buildTree((await rpc('debug_traceCall', ...traceCallOf(whatIf, TRACER))) as RawFrame), name: 'the changed one' }
}

/** Prints what differs. */
export function printComparison(
  found: Found,
  second: { top: Frame; name: string },
  names: Names,
  parsed: Parsed,
  terminal: Terminal,
): void {
  const { hash, top } = one(found, '--compare')
  const comparison = compareTrees(top, second.top)
  if (parsed.flags.get('json') === 'true') {
    terminal.out(`${JSON.stringify(jsonOf(comparison))}\n`)
    return
  }
  const text = comparisonText(comparison, names, [hash.slice(0, 10), second.name], widthOf(parsed, terminal))
  terminal.out(hasColours(parsed, terminal) ? coloured(text) : text)
}

const jsonOf = ({ calls, ...sums }: Comparison): unknown => ({
  ...sums,
  calls: calls.map(({ a, b, differs }) => ({ a: a?.id ?? null, b: b?.id ?? null, differs })),
})
