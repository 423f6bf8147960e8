// `hearth simulate`: blocks of calls as eth_simulateV1 takes them, and the tree of each call.
import fs from 'node:fs'
import { blockOf, buildTree, type RawFrame } from '../../explore/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { SOME_FAILED } from '../commands/trace.ts'
import { EXIT } from '../exit.ts'
import { readable } from './call.ts'
import { hasColours } from './colour.ts'
import { type Found, TRACER, type Traced } from './found.ts'
import { namesOf } from './names.ts'
import { checkUrl, printTrees, treesJson, withAsk } from './run.ts'
import { type RpcCall, TraceError } from './source.ts'

/** File descriptor of standard input. */
const STDIN = 0

type Fields = Readonly<Record<string, unknown>>

interface GivenBlock {
  readonly blockOverrides?: Fields
  readonly stateOverrides?: Fields
  readonly calls: readonly Fields[]
}

interface Simulation {
  readonly blocks: readonly GivenBlock[]
  /** The first parameter of eth_simulateV1. */
  readonly request: Fields
}

/** What eth_simulateV1 answers of a block; the fields that the trees need. */
interface SimulatedBlock {
  readonly number: string
  readonly timestamp: string
  readonly gasLimit: string
  readonly miner: string
  readonly mixHash?: string
  readonly baseFeePerGas?: string
  readonly calls: readonly { readonly status: string; readonly gasUsed: string; readonly error?: { readonly message: string } }[]
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A file: the parameter of eth_simulateV1, or its list of blocks alone. */
function simulationOf(text: string, name: string): Simulation {
  const wrong = (why: string): UsageError =>
    new UsageError(`${name} ${why}; it holds {"blockStateCalls": [{"calls": [{"from": "0x…", "to": "0x…", "data": "0x…"}]}]}`)
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (e) {
    throw wrong(`is no JSON (${(e as Error).message})`)
  }
  const request = Array.isArray(parsed) ? { blockStateCalls: parsed } : parsed
  if (!isObject(request) || !Array.isArray(request.blockStateCalls)) throw wrong('has no blockStateCalls')
  const blocks = request.blockStateCalls.map((block: unknown, i): GivenBlock => {
    if (!isObject(block)) throw wrong(`has a block ${i} that is no object`)
    const calls = block.calls ?? []
    if (!Array.isArray(calls) || !calls.every(isObject)) throw wrong(`has a block ${i} whose calls are no list of objects`)
    return { ...block, calls }
  })
  return { blocks, request }
}

function readInput(file: string): Simulation {
  try {
    return simulationOf(fs.readFileSync(file === '-' ? STDIN : file, 'utf8'), file === '-' ? 'standard input' : file)
  } catch (e) {
    throw e instanceof UsageError ? e : new UsageError(`${file}: ${(e as Error).message}`)
  }
}

/** The simulated block of each given one: eth_simulateV1 puts empty blocks into gaps of heights. */
function alignedWith(given: readonly GivenBlock[], simulated: readonly SimulatedBlock[]): SimulatedBlock[] {
  let at = 0
  return given.map((block) => {
    const height = block.blockOverrides?.number
    if (typeof height === 'string' && /^0x[0-9a-f]+$/i.test(height))
      while (at < simulated.length && BigInt((simulated[at] as SimulatedBlock).number) < BigInt(height)) at++
    const found = simulated[at++]
    if (found === undefined || found.calls.length !== block.calls.length)
      throw new TraceError('eth_simulateV1: the node answered other blocks than were simulated')
    return found
  })
}

/** The environment that a block was simulated in. */
function environmentOf({ number, timestamp, gasLimit, miner, mixHash, baseFeePerGas }: SimulatedBlock, given: GivenBlock): Fields {
  return {
    number,
    time: timestamp,
    gasLimit,
    feeRecipient: miner,
    ...(mixHash === undefined ? {} : { prevRandao: mixHash }),
    ...(baseFeePerGas === undefined ? {} : { baseFeePerGas }),
    ...(given.blockOverrides?.blobBaseFee === undefined ? {} : { blobBaseFee: given.blockOverrides.blobBaseFee }),
  }
}

async function simulated(rpc: RpcCall, { blocks, request }: Simulation, block: string): Promise<readonly Found[]> {
  const answers = alignedWith(blocks, (await rpc('eth_simulateV1', request, block)) as SimulatedBlock[])
  const bundles = blocks.map((given, i) => ({
    transactions: given.calls,
    blockOverrides: environmentOf(answers[i] as SimulatedBlock, given),
    ...(given.stateOverrides === undefined ? {} : { stateOverrides: given.stateOverrides }),
  }))
  const traces = (await rpc('debug_traceCallMany', bundles, { blockNumber: block }, TRACER)) as (RawFrame & { error?: string })[][]
  return answers.map((answer, i) => ({
    block: Number(answer.number),
    whole: undefined,
    traced: answer.calls.map((call, index): Traced => {
      const raw = traces[i]?.[index]
      if (raw === undefined || typeof raw.type !== 'string')
        throw new TraceError(
          `call ${index} of block ${Number(answer.number)}: ${raw?.error ?? call.error?.message ?? 'the node gave no trace'}`,
        )
      const top = buildTree(raw)
      const trace = (): Promise<never> => Promise.reject(new TraceError('simulated calls have trees alone'))
      return { hash: `call ${index}`, index, gasLimit: top.gas, gasUsed: Number(call.gasUsed), top, subject: undefined, trace }
    }),
  }))
}

/** Runs the command; resolves to its exit code. */
export async function runSimulate(parsed: Parsed, terminal: Terminal): Promise<number> {
  const names = namesOf(parsed)
  checkUrl(parsed)
  hasColours(parsed, terminal)
  const block = readable('block', () => blockOf(parsed.flags.get('block') ?? 'latest'))
  const simulation = readInput(parsed.files[0] as string)
  return withAsk(parsed, terminal, async (rpc) => {
    const found = await simulated(rpc, simulation, block)
    if (parsed.flags.get('json') === 'true') terminal.out(`[${found.map(treesJson).join(',')}]\n`)
    else {
      for (const [i, one] of found.entries()) {
        if (i > 0) terminal.out('\n')
        printTrees(one, names, parsed, terminal)
      }
    }
    const failed = found.some(({ traced }) => traced.some(({ top }) => top.error !== undefined))
    return parsed.flags.get('check') === 'true' && failed ? SOME_FAILED : EXIT.done
  })
}
