// What `hearth trace` prints instead of the tree: steps, gas by opcode, what changed.
import type { Line } from '../../explore/artifacts/index.ts'
import {
  type Names,
  namedSlot,
  type OpcodeRow,
  opcodeText,
  type Preimages,
  preorder,
  type RawDiff,
  type RawStep,
  STEPS_HEADING,
  stateText,
  stepText,
} from '../../explore/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { artifactsMissing, type LineProfile, lineSuffix, type TracedContracts } from './artifacts.ts'
import type { Found, Traced } from './found.ts'
import { CALL_MS_MAX, NoSuchMethod, type RpcCall, TraceError } from './source.ts'

/** Steps of one page; the method takes no more. */
const PAGE_STEPS = 1_000

/** Items of the stack that are shown where not everything is. */
const STACK_TOP = 4

const TIMEOUT = `${CALL_MS_MAX / 1000}s`

/** What is printed. */
export type View =
  | { readonly kind: 'steps'; readonly from: number; readonly to: number }
  | { readonly kind: 'opcodes' }
  | { readonly kind: 'lines' }
  | { readonly kind: 'state' }

/** A range of steps: `A..B` (before B), `A..`, `..B`, or A alone. */
function rangeOf(text: string): View {
  const wrong = new UsageError(`--steps takes a range of steps such as 100..200, not ${JSON.stringify(text)}`)
  const [, first, last] = /^(\d{0,15})\.\.(\d{0,15})$/.exec(text) ?? []
  if (first === undefined) {
    if (!/^\d{1,15}$/.test(text)) throw wrong
    return { kind: 'steps', from: Number(text), to: Number(text) + 1 }
  }
  const [from, to] = [Number(first), last === '' ? Number.POSITIVE_INFINITY : Number(last)]
  if (to <= from) throw wrong
  return { kind: 'steps', from, to }
}

/** The view of a command line; undefined for the tree and what is made of it. */
export function viewOf({ flags }: Parsed): View | undefined {
  const given = ['steps', 'gas', 'state-diff'].filter((name) => flags.has(name))
  if (given.length > 1)
    throw new UsageError(`${given.map((name) => `--${name}`).join(' and ')} are printed one at a time: give one of them`)
  const steps = flags.get('steps')
  if (steps !== undefined) return rangeOf(steps)
  if (flags.get('gas') === 'opcode') return { kind: 'opcodes' }
  if (flags.get('gas') === 'line') return { kind: 'lines' }
  return flags.has('state-diff') ? { kind: 'state' } : undefined
}

/** What a view is made with. */
interface ViewContext {
  readonly rpc: RpcCall
  readonly names: Names
  /** Undefined without --artifacts. */
  readonly contracts?: TracedContracts | undefined
  readonly parsed: Parsed
  readonly terminal: Terminal
}

const isJson = ({ parsed }: ViewContext): boolean => parsed.flags.get('json') === 'true'

/** A request for a method that only Hearth has. */
async function callHearth({ rpc }: ViewContext, flag: string, method: string, ...params: unknown[]): Promise<unknown> {
  try {
    return await rpc(method, ...params)
  } catch (e) {
    if (!(e instanceof NoSuchMethod)) throw e
    throw new TraceError(`${flag} needs ${method}, which this node does not have or does not serve (${e.message})`)
  }
}

interface Page {
  readonly steps: readonly RawStep[]
  readonly next?: number
}

async function printSteps({ from, to }: { from: number; to: number }, { traced, block }: Found, context: ViewContext): Promise<void> {
  const [one] = traced
  if (traced.length !== 1 || one === undefined)
    throw new TraceError(`--steps is for one transaction, and block ${block} has ${traced.length}: give the hash of one`)
  const [{ terminal }, json] = [context, isJson(context)]
  const ids = [...preorder(one.top)].map(({ id }) => id)
  const whole = context.parsed.flags.get('raw') === 'true'
  const lineOf = json ? undefined : await context.contracts?.lineOf(0, one.top)
  let line: Line | undefined
  const text = (step: RawStep): string => {
    const [before, here] = [line, lineOf?.(step.frame, step.pc)]
    line = here ?? before
    return `${stepText(step, ids)}${lineSuffix(here, before)}`
  }
  let printed = 0
  terminal.out(json ? '[' : `${STEPS_HEADING}\n`)
  for (let at = from; at < to; ) {
    const end = Math.min(to, at + PAGE_STEPS)
    const options = { from: at, to: end, timeout: TIMEOUT, ...(whole || json ? {} : { stackTop: STACK_TOP }) }
    const { steps, next } = (await callHearth(context, '--steps', 'debug_traceSteps', one.subject, options)) as Page
    if (json) terminal.out(steps.map((step, i) => `${printed + i > 0 ? ',' : ''}${JSON.stringify(step)}`).join(''))
    else if (steps.length > 0) terminal.out(`${steps.map(text).join('\n')}\n`)
    printed += steps.length
    if (next === undefined && steps.length < end - at) break
    at = next ?? end
  }
  if (json) terminal.out(']\n')
}

interface Profile {
  readonly executionGas: number
  readonly stepsGas: number
  readonly rows: readonly OpcodeRow[]
}

async function printOpcodes({ whole, traced }: Found, context: ViewContext): Promise<void> {
  const of = whole === undefined ? traced[0]?.subject : { block: whole }
  const options = { by: 'opcode', timeout: TIMEOUT }
  const profile = (await callHearth(context, '--gas=opcode', 'debug_traceGasProfile', of, options)) as Profile
  context.terminal.out(isJson(context) ? `${JSON.stringify(profile)}\n` : opcodeText(profile.rows, profile))
}

async function printLines({ whole, traced }: Found, context: ViewContext): Promise<void> {
  if (context.contracts === undefined) throw artifactsMissing('--gas=line')
  const of = whole === undefined ? traced[0]?.subject : { block: whole }
  const profile = (await callHearth(context, '--gas=line', 'debug_traceGasProfile', of, { by: 'pc', timeout: TIMEOUT })) as LineProfile
  const { gas, text } = await context.contracts.gas(profile)
  context.terminal.out(isJson(context) ? `${JSON.stringify(gas)}\n` : text)
}

const DIFF = { tracer: 'prestateTracer', tracerConfig: { diffMode: true }, timeout: TIMEOUT } as const

/** What each transaction changed. */
async function diffsOf({ whole, traced }: Found, { rpc }: ViewContext): Promise<[Traced, RawDiff][]> {
  if (whole === undefined) {
    return await Promise.all(traced.map(async (one) => [one, (await one.trace(DIFF)) as RawDiff] as [Traced, RawDiff]))
  }
  const all = (await rpc('debug_traceBlockByHash', whole, DIFF)) as { result?: RawDiff; error?: string }[]
  return traced.map((one, i) => {
    const { result, error } = all[i] ?? {}
    if (result === undefined) throw new TraceError(`transaction ${one.hash}: ${error ?? 'the node gave no trace'}`)
    return [one, result]
  })
}

/**
 * What a transaction hashed, by which its slots have names; nothing where the node does not know.
 */
async function preimagesOf({ trace }: Traced): Promise<Preimages> {
  try {
    return new Map(Object.entries((await trace({ tracer: 'keccak256PreimageTracer', timeout: TIMEOUT })) as Record<string, string>))
  } catch (e) {
    if (!(e instanceof TraceError)) throw e
    return new Map()
  }
}

async function printState(found: Found, context: ViewContext): Promise<void> {
  const diffs = await diffsOf(found, context)
  if (isJson(context)) {
    const rows = diffs.map(([{ hash, index }, diff]) => ({ hash, block: found.block, index, ...diff }))
    return context.terminal.out(`${JSON.stringify(rows)}\n`)
  }
  const texts: string[] = []
  for (const [n, [one, diff]] of diffs.entries()) {
    const preimages = await preimagesOf(one)
    const slotName = (address: string, slot: string): string | undefined =>
      context.contracts?.slotName(n, one.top, { address, slot, preimages }) ?? namedSlot(slot, preimages)
    const place = one.index === undefined ? `after block ${found.block}` : `block ${found.block} #${one.index}`
    texts.push([`${one.hash}  ${place}`, ...stateText(diff, context.names, slotName)].join('\n'))
  }
  context.terminal.out(`${texts.join('\n\n')}\n`)
}

/** Prints a view of the transactions that were found. */
export async function printView(view: View, found: Found, context: ViewContext): Promise<void> {
  if (view.kind === 'steps') await printSteps(view, found, context)
  else if (view.kind === 'opcodes') await printOpcodes(found, context)
  else if (view.kind === 'lines') await printLines(found, context)
  else await printState(found, context)
}
