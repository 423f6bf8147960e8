// `hearth trace`: requests a trace, and prints it or writes it to files.
import fs from 'node:fs'
import {
  flameBoxes,
  flameHtml,
  flameSvg,
  folded,
  gasText,
  type Names,
  preorder,
  speedscope,
  TooManyFrames,
  transactionText,
  type WhatIf,
} from '../../explore/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { SOME_FAILED } from '../commands/trace.ts'
import { EXIT } from '../exit.ts'
import { onStop } from '../signals.ts'
import { foldersOf, TracedContracts } from './artifacts.ts'
import { callOf } from './call.ts'
import { coloured, hasColours } from './colour.ts'
import { changesOf, otherOf, printComparison, secondTree } from './compare.ts'
import { calledOf, type Found, tracesOf } from './found.ts'
import { namesOf } from './names.ts'
import { openSource, type RpcCall, TraceError } from './source.ts'
import { printView, type View, viewOf } from './views.ts'
import { countOf, widthOf } from './width.ts'

/** What `--flame` writes, by the end of the file's name. */
function flameOf(file: string, { traced }: Found, names: Names, title: string): string {
  const tops = traced.map(({ top }) => top)
  return /\.html?$/i.test(file) ? flameHtml(flameBoxes(tops, names), title) : flameSvg(tops, names, title)
}

/** Writes the files that flags name; gives how many. */
function writeFiles(found: Found, names: Names, { flags }: Parsed, terminal: Terminal, title: string): number {
  const tops = found.traced.map(({ top }) => top)
  const files: [string, (file: string) => string][] = [
    ['flame', (file) => flameOf(file, found, names, title)],
    ['speedscope', () => speedscope(tops, names, title)],
    ['folded', () => folded(tops, names)],
  ]
  const wanted = files.filter(([name]) => flags.has(name))
  for (const [name, text] of wanted) {
    const file = flags.get(name) as string
    fs.writeFileSync(file, text(file))
    terminal.err(`wrote ${file}\n`)
  }
  return wanted.length
}

/** A transaction or call with its tree as JSON has it. */
export const treesJson = ({ traced, block }: Found): string =>
  JSON.stringify(
    traced.map(({ hash, index, gasLimit, gasUsed, top }) => ({ hash, block, index, gasLimit, gasUsed, call: top })),
    (_, value) => (typeof value === 'bigint' ? `0x${value.toString(16)}` : value),
  )

/** The trees of a command line as text. */
export function printTrees({ traced, block }: Found, names: Names, parsed: Parsed, terminal: Terminal): void {
  const options = { depth: countOf(parsed, 'depth'), width: widthOf(parsed, terminal) }
  const paint = hasColours(parsed, terminal) ? coloured : (text: string): string => text
  terminal.out(traced.map((one) => paint(transactionText({ block, ...one }, one.top, names, options))).join('\n'))
}

function print(found: Found, names: Names, parsed: Parsed, terminal: Terminal, given: string): void {
  const written = writeFiles(found, names, parsed, terminal, `${given}, block ${found.block}`)
  if (parsed.flags.get('json') === 'true') terminal.out(`${treesJson(found)}\n`)
  else if (parsed.flags.get('gas') === 'true') {
    const tops = found.traced.map(({ top }) => ({ frames: preorder(top) }))
    terminal.out(gasText(tops, names))
  } else if (written === 0) printTrees(found, names, parsed, terminal)
}

/** What a command line requests, checked before any request is sent. */
interface Plan {
  readonly given: string
  readonly call: WhatIf | undefined
  readonly change: ReturnType<typeof changesOf>
  readonly other: string | undefined
  readonly view: View | undefined
  readonly folders: readonly string[] | undefined
}

function planOf(parsed: Parsed, terminal: Terminal): Plan {
  const call = callOf(parsed)
  const [given = '', ...more] = call === undefined ? parsed.files : []
  if (call === undefined && given === '') throw new UsageError('TX|BLOCK is missing')
  if (more.length > 0) throw new UsageError(`unexpected argument ${JSON.stringify(more[0])}`)
  if (call === undefined && !/^(0x[0-9a-fA-F]{64}|0x[0-9a-fA-F]{1,16}|\d{1,18}|latest|safe|finalized|earliest)$/.test(given))
    throw new UsageError(`${JSON.stringify(given)} is no hash of a transaction or block, no height and no tag such as latest`)
  namesOf(parsed)
  checkUrl(parsed)
  widthOf(parsed, terminal)
  countOf(parsed, 'depth')
  hasColours(parsed, terminal)
  const [view, folders, change, other] = [viewOf(parsed), foldersOf(parsed), changesOf(parsed), otherOf(parsed)]
  if (change !== undefined && other !== undefined) throw new UsageError('--set and --compare are two comparisons: give one of them')
  const others = ['gas', 'flame', 'speedscope', 'folded'].some((name) => parsed.flags.has(name))
  if ((change !== undefined || other !== undefined) && (view !== undefined || others))
    throw new UsageError('--set, --replay and --compare print differences alone: leave the other view out')
  return { given: call === undefined ? given : 'call', call, change, other, view, folders }
}

/** Throws where `--rpc` is no URL. */
export function checkUrl({ flags }: Parsed): void {
  const url = flags.get('rpc')
  if (url !== undefined && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)))
    throw new UsageError(`--rpc takes a URL such as http://127.0.0.1:8545, not ${JSON.stringify(url)}`)
}

/**
 * Runs requests to the node or the home of a command line; gives the exit code. What the node
 * refuses is one line; a signal ends the process at once, since a request may take minutes.
 */
export async function withAsk(parsed: Parsed, terminal: Terminal, work: (rpc: RpcCall) => Promise<number>): Promise<number> {
  const forget = onStop(() => process.exit(EXIT.stopped))
  try {
    const { rpc, close } = await openSource(parsed, terminal)
    try {
      return await work(rpc)
    } finally {
      await close()
    }
  } catch (e) {
    if (!(e instanceof TraceError || e instanceof TooManyFrames)) throw e
    terminal.err(`error: ${e.message}\n`)
    return EXIT.failed
  } finally {
    forget()
  }
}

/** Runs the command; resolves to its exit code. */
export async function runTrace(parsed: Parsed, terminal: Terminal): Promise<number> {
  const { given, call, change, other, view, folders } = planOf(parsed, terminal)
  return withAsk(parsed, terminal, async (rpc) => {
    const found = call === undefined ? await tracesOf(rpc, given) : await calledOf(rpc, call)
    const second = change === undefined && other === undefined ? undefined : await secondTree(found, { change, other, rpc })
    const tops = found.traced.map(({ top }) => top)
    const warn = (text: string): void => terminal.err(`warning: ${text}\n`)
    const contracts = folders && (await TracedContracts.open(folders, { tops, block: found.block, rpc, warn }))
    const names = namesOf(parsed, contracts)
    if (second !== undefined) printComparison(found, second, names, parsed, terminal)
    else if (view === undefined) print(found, names, parsed, terminal, given)
    else await printView(view, found, { rpc, names, contracts, parsed, terminal })
    const failed = tops.some(({ error }) => error !== undefined)
    return parsed.flags.get('check') === 'true' && failed ? SOME_FAILED : EXIT.done
  })
}
