// `hearth trace`: requests a trace, and prints it or writes it to files.
import fs from 'node:fs'
import {
  BadSignature,
  buildTree,
  type Frame,
  flameSvg,
  folded,
  gasText,
  Names,
  preorder,
  type RawFrame,
  SIGNATURES_MAX,
  speedscope,
  TooManyFrames,
  transactionText,
} from '../../explore/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { SOME_FAILED, WIDTH } from '../commands/trace.ts'
import { EXIT } from '../exit.ts'
import { foldersOf, TracedContracts } from './artifacts.ts'
import { ASK_MS_MAX, type Ask, TraceError, whomToAsk } from './ask.ts'
import { changesOf, otherOf, printComparison, secondTree } from './compare.ts'
import { printView, viewOf } from './views.ts'

/** A transaction with what its heading says. */
export interface Traced {
  readonly hash: string
  readonly index: number
  readonly gasLimit: number
  readonly gasUsed: number
  readonly top: Frame
}

const TRACER = { tracer: 'callTracer', tracerConfig: { withLog: true }, timeout: `${ASK_MS_MAX / 1000}s` } as const

interface RpcTransaction {
  readonly hash: string
  readonly gas: string
  readonly blockNumber: string | null
  readonly transactionIndex: string
}

/** The transactions of a command line, all of one block. */
export interface Found {
  readonly block: number
  /** Hash of the block, where the command line names it. */
  readonly whole: string | undefined
  readonly traced: readonly Traced[]
}

async function oneTransaction(ask: Ask, hash: string): Promise<Found> {
  const transaction = (await ask('eth_getTransactionByHash', hash)) as RpcTransaction | null
  if (transaction === null) throw new TraceError(`transaction ${hash} is not known to this node`)
  if (transaction.blockNumber === null) throw new TraceError(`transaction ${hash} waits in the pool: it has no trace yet`)
  const receipt = (await ask('eth_getTransactionReceipt', hash)) as { gasUsed: string } | null
  const top = buildTree((await ask('debug_traceTransaction', hash, TRACER)) as RawFrame)
  const [index, gasLimit] = [Number(transaction.transactionIndex), Number(transaction.gas)]
  const gasUsed = receipt === null ? top.gasUsed : Number(receipt.gasUsed)
  return { block: Number(transaction.blockNumber), whole: undefined, traced: [{ hash, index, gasLimit, gasUsed, top }] }
}

interface RpcBlock {
  readonly number: string
  readonly hash: string
  readonly transactions: readonly RpcTransaction[]
}

async function wholeBlock(ask: Ask, given: string): Promise<Found> {
  const tag = /^\d+$/.test(given) ? `0x${BigInt(given).toString(16)}` : given
  const isHash = tag.length === HASH_CHARACTERS
  const block = (await ask(isHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber', tag, true)) as RpcBlock | null
  if (block === null) throw new TraceError(`block ${given} is not known to this node`)
  const traces = (await ask('debug_traceBlockByHash', block.hash, TRACER)) as { result?: RawFrame; error?: string }[]
  const traced = block.transactions.map((transaction, index) => {
    const { result, error } = traces[index] ?? {}
    if (result === undefined) throw new TraceError(`transaction ${transaction.hash}: ${error ?? 'the node gave no trace'}`)
    const top = buildTree(result)
    return { hash: transaction.hash, index, gasLimit: Number(transaction.gas), gasUsed: top.gasUsed, top }
  })
  return { block: Number(block.number), whole: block.hash, traced }
}

/** Characters of a hash with its prefix. */
const HASH_CHARACTERS = 66

/** The transaction or the block of a word; a hash is that of a transaction where there is one. */
async function tracesOf(ask: Ask, given: string): Promise<Found> {
  if (given.length !== HASH_CHARACTERS) return wholeBlock(ask, given)
  const isBlock = (await ask('eth_getTransactionByHash', given)) === null && (await ask('eth_getBlockByHash', given, false)) !== null
  return isBlock ? wholeBlock(ask, given) : oneTransaction(ask, given)
}

function read(flag: string, file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (e) {
    throw new UsageError(`--${flag}: ${(e as Error).message}`)
  }
}

/** Labels: a JSON object of names by address. */
function labelsOf(file: string | undefined): ReadonlyMap<string, string> {
  if (file === undefined) return new Map()
  const wrong = new UsageError(`--labels ${file} must hold a JSON object such as {"0x6b17..1d0f": "DAI"}, with whole addresses`)
  let parsed: unknown
  try {
    parsed = JSON.parse(read('labels', file))
  } catch (e) {
    throw e instanceof UsageError ? e : wrong
  }
  const entries = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? Object.entries(parsed) : undefined
  if (entries?.every(([address, name]) => /^0x[0-9a-fA-F]{40}$/.test(address) && typeof name === 'string') !== true) throw wrong
  return new Map(entries.map(([address, name]) => [address.toLowerCase(), name as string]))
}

/** Signatures, one a line; empty lines and those that begin with # are passed. */
function signaturesOf(file: string | undefined): string[] {
  if (file === undefined) return []
  const lines = read('signatures', file)
    .split('\n')
    .map((line) => line.trim().replace(/;$/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'))
  if (lines.length > SIGNATURES_MAX)
    throw new UsageError(`--signatures ${file} has ${lines.length} signatures, at most ${SIGNATURES_MAX} are taken`)
  return lines
}

function namesOf({ flags }: Parsed, contracts?: TracedContracts): Names {
  try {
    return new Names({
      labels: new Map([...(contracts?.labels ?? []), ...labelsOf(flags.get('labels'))]),
      artifacts: contracts?.signatures ?? [],
      signatures: signaturesOf(flags.get('signatures')),
      whole: flags.get('raw') === 'true',
    })
  } catch (e) {
    throw e instanceof BadSignature ? new UsageError(`--signatures: ${e.message}`) : e
  }
}

/** A positive whole number of a flag; undefined where the flag is absent. */
function countOf({ flags }: Parsed, name: string): number | undefined {
  const text = flags.get(name)
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${name} takes a whole number from 1 on, not ${JSON.stringify(text)}`)
  return Number(text)
}

function print({ block, traced }: Found, names: Names, parsed: Parsed, terminal: Terminal, given: string): void {
  const { flags } = parsed
  const tops = traced.map(({ top }) => top)
  const title = `${given}, block ${block}`
  const files: [string, () => string][] = [
    ['flame', () => flameSvg(tops, names, title)],
    ['speedscope', () => speedscope(tops, names, title)],
    ['folded', () => folded(tops, names)],
  ]
  const asked = files.filter(([name]) => flags.has(name))
  for (const [name, text] of asked) {
    const file = flags.get(name) as string
    fs.writeFileSync(file, text())
    terminal.err(`wrote ${file}\n`)
  }
  if (flags.get('json') === 'true') {
    const rows = traced.map(({ hash, index, gasLimit, gasUsed, top }) => ({ hash, block, index, gasLimit, gasUsed, call: top }))
    const text = JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? `0x${value.toString(16)}` : value))
    terminal.out(`${text}\n`)
    return
  }
  if (flags.get('gas') === 'true') {
    terminal.out(
      gasText(
        tops.map((top) => ({ frames: preorder(top) })),
        names,
      ),
    )
    return
  }
  if (asked.length > 0) return
  const width = flags.get('raw') === 'true' ? undefined : (countOf(parsed, 'width') ?? WIDTH)
  const options = { depth: countOf(parsed, 'depth'), width }
  terminal.out(traced.map((one) => transactionText({ block, ...one }, one.top, names, options)).join('\n'))
}

/** Runs the command; resolves to its exit code. */
export async function runTrace(parsed: Parsed, terminal: Terminal): Promise<number> {
  const [given = ''] = parsed.files
  if (!/^(0x[0-9a-fA-F]{64}|0x[0-9a-fA-F]{1,16}|\d{1,18}|latest|safe|finalized|earliest)$/.test(given))
    throw new UsageError(`${JSON.stringify(given)} is no hash of a transaction or block, no height and no tag such as latest`)
  // The files that flags name are read before any request is sent.
  namesOf(parsed)
  const url = parsed.flags.get('rpc')
  if (url !== undefined && !URL.canParse(url))
    throw new UsageError(`--rpc takes a URL such as http://127.0.0.1:8545, not ${JSON.stringify(url)}`)
  const view = viewOf(parsed)
  const folders = foldersOf(parsed)
  const [change, other] = [changesOf(parsed), otherOf(parsed)]
  if (change !== undefined && other !== undefined) throw new UsageError('--set and --compare are two comparisons: give one of them')
  const isComparison = change !== undefined || other !== undefined
  const others = ['gas', 'flame', 'speedscope', 'folded'].some((name) => parsed.flags.has(name))
  if (isComparison && (view !== undefined || others))
    throw new UsageError('--set and --compare print differences alone: leave the other view out')
  try {
    const { ask, close } = await whomToAsk(parsed, terminal)
    try {
      const found = await tracesOf(ask, given)
      const second = isComparison ? await secondTree(found, { change, other, ask }) : undefined
      const tops = found.traced.map(({ top }) => top)
      const warn = (text: string): void => terminal.err(`warning: ${text}\n`)
      const contracts = folders && (await TracedContracts.open(folders, { tops, block: found.block, ask, warn }))
      const names = namesOf(parsed, contracts)
      if (second !== undefined) printComparison(found, second, names, parsed, terminal)
      else if (view === undefined) print(found, names, parsed, terminal, given)
      else await printView(view, found, { ask, names, contracts, parsed, terminal })
      const failed = found.traced.some(({ top }) => top.error !== undefined)
      return parsed.flags.get('check') === 'true' && failed ? SOME_FAILED : EXIT.done
    } finally {
      await close()
    }
  } catch (e) {
    if (!(e instanceof TraceError || e instanceof TooManyFrames)) throw e
    terminal.err(`error: ${e.message}\n`)
    return EXIT.failed
  }
}
