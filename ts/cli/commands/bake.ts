// hearth bake: computes the traces of existing blocks, on a home that no node has open, or through
// the node that has it open.
import type { BakeRange, BakeReport } from '../../core/bake.ts'
import { startBakeJob, startNodeCommand } from '../../core/native.ts'
import { nodeConfig, storage } from '../../node/node-config.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Command, Terminal } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { HOME_FLAG, homeOf, settingsOf } from '../home.ts'
import { duration } from '../progress.ts'
import { bytesText } from './db/text.ts'
import { type Finished, finishJob, heightOf, isInUse, STOPPED_EXIT } from './job.ts'

function rangeOf(parsed: Parsed): BakeRange {
  const height = (flag: string): number | undefined => {
    const text = parsed.flags.get(flag)
    return text === undefined ? undefined : heightOf(text, flag)
  }
  const [from, to] = [height('from'), height('to')]
  if (from !== undefined && to !== undefined && from > to) throw new UsageError(`--from ${from} is above --to ${to}`)
  return { from, to }
}

const blocks = (n: number): string => (n === 1 ? '1 block' : `${n} blocks`)

function summary({ baked, known, failed, bytes, failures, stopped }: BakeReport, ms: number): string {
  const already = known > 0 ? `, ${known} were baked already` : ''
  const lines = [`baked ${blocks(baked)} (${bytesText(bytes)}) in ${duration(ms)}${already}`]
  if (failed > 0) lines.push(`${blocks(failed)} could not be baked:`)
  for (const { height, reason } of failures) lines.push(`  block ${height}: ${reason}`)
  if (failed > failures.length) lines.push(`  and ${failed - failures.length} more`)
  if (stopped !== null) lines.push(`stopped before the end: ${stopped}`)
  return `${lines.join('\n')}\n`
}

/** Bakes by itself, or by the node that has the home; undefined where a signal stopped it. */
async function work(parsed: Parsed, range: BakeRange, terminal: Terminal): Promise<Finished<BakeReport> | undefined> {
  const home = homeOf(parsed)
  const { settings } = settingsOf(parsed, home, terminal)
  const base = storage(home, settings)
  try {
    return await finishJob(startBakeJob(base, { node: nodeConfig(home, 'start', settings), range }), terminal)
  } catch (e) {
    if (!isInUse(e)) throw e
    terminal.err('a node runs on this data directory: it bakes the blocks, under its own settings\n')
    return await finishJob(startNodeCommand(base, 'bake', range), terminal)
  }
}

export const bake: Command = {
  name: 'bake',
  doc: COMMAND_DOCS.bake,
  flags: {
    ...HOME_FLAG,
    from: { value: 'HEIGHT', doc: 'First block. Default: the first one of the chain.' },
    to: { value: 'HEIGHT', doc: 'Last block. Default: the head.' },
    json: { doc: 'Print the report as JSON.' },
  },
  settings: [
    'evm.trace_bake_tracers',
    'evm.trace_bake_further_tracers',
    'evm.trace_bake_canonical_configs',
    'evm.trace_bake_workers',
    'evm.trace_bake_timeout',
  ],
  async run(parsed, terminal) {
    const done = await work(parsed, rangeOf(parsed), terminal)
    if (done === undefined) {
      terminal.err('stopped: the same command continues from here\n')
      return STOPPED_EXIT
    }
    const { result, ms } = done
    terminal.out(parsed.flags.has('json') ? `${JSON.stringify(result)}\n` : summary(result, ms))
    return result.failed > 0 || result.stopped !== null ? 1 : 0
  },
}
