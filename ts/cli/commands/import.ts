// hearth import: executes and verifies block files, or one recorded block, into a home.
import { CoreError } from '../../core/error.ts'
import { type Job, type JobResult, STANDARD_STREAM } from '../../core/jobs.ts'
import { startNodeCommand } from '../../core/native.ts'
import { storage } from '../../node/node-config.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Command, Terminal } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { HOME_FLAG, homeOf, inHome, STORE_SETTINGS, settingsOf } from '../home.ts'
import { rates, streamLine } from '../progress.ts'
import { type Finished, finishJob, inputFile, isInUse, runJob, STOPPED_EXIT } from './job.ts'

/** The value of state-commit.flatkv.fsync for an import if the operator did not set it. */
export const IMPORT_FSYNC = 'interval:1000'

/** Paths of block files; one of them may be standard input. */
function blockFiles(files: readonly string[]): string[] {
  if (files.filter((file) => file === STANDARD_STREAM).length > 1) throw new UsageError('- (standard input) is given twice')
  return files.map((file) => (file === STANDARD_STREAM ? file : inputFile(file, 'the block file')))
}

function jobOf(parsed: Parsed, base: ReturnType<typeof storage>): Job {
  const genesis = parsed.flags.get('genesis')
  const genesisFile = genesis === undefined ? undefined : inputFile(genesis, 'the genesis file')
  const recorded = parsed.flags.get('case')
  const head = parsed.flags.get('head')
  if (recorded !== undefined) {
    if (parsed.files.length > 0) throw new UsageError('--case takes one recorded block and no block files')
    if (head !== undefined) throw new UsageError('--head chooses among blocks of files; a recorded block is its own head')
    return { job: 'importCase', genesis: genesisFile, case: inputFile(recorded, 'the recorded block'), ...base }
  }
  if (parsed.files.length === 0) throw new UsageError('a block file or --case is missing')
  if (head !== undefined && !/^0x[0-9a-fA-F]{64}$/.test(head))
    throw new UsageError(`--head takes a block hash (0x and 64 hex digits), not ${JSON.stringify(head)}`)
  return { job: 'import', genesis: genesisFile, files: blockFiles(parsed.files), head, ...base }
}

/** Why a running node cannot do a job; undefined where it can. */
function refusalOf(job: Job, parsed: Parsed): string | undefined {
  if (job.job === 'importCase') return '--case makes a new home: give a home on which no node runs'
  if (job.job === 'import' && job.genesis !== undefined) return '--genesis is for a home on which no node runs: leave it out'
  if (parsed.files.includes(STANDARD_STREAM)) return 'the node cannot read the standard input of this command: give a file'
  return undefined
}

/**
 * Imports in this process, or through the node that runs on the home; undefined if a signal stopped
 * it.
 */
async function work(job: Job, parsed: Parsed, terminal: Terminal): Promise<Finished<JobResult> | undefined> {
  const line = parsed.files.includes(STANDARD_STREAM) ? streamLine : undefined
  try {
    return await runJob(job, terminal, line)
  } catch (e) {
    if (!isInUse(e)) throw e
    const refusal = refusalOf(job, parsed)
    if (refusal !== undefined || job.job !== 'import') throw new CoreError(e.kind, `${e.message}: ${refusal}`, e.data)
    terminal.err('a node runs on this data directory: it imports the blocks, under its own settings\n')
    return await finishJob(startNodeCommand(job, 'import', { files: job.files, head: job.head }), terminal)
  }
}

/**
 * Time and speed of the execution: that of the whole command would say little about a single block.
 */
function executed(gas: number, nanos: number): string {
  return `${(nanos / 1e6).toFixed(1)} ms (${((gas * 1e3) / nanos).toFixed(1)} Mgas/s)`
}

function summary(result: JobResult, ms: number): string {
  const restored = result.restored > 0 ? ` (${result.restored} damaged, written again)` : ''
  const known = result.known > 0 ? `, ${result.known} were there already${restored}` : ''
  const head = result.head === null ? '' : `; the head is block ${result.head.height} ${result.head.hash}`
  const execution = result.executionNanos === null ? '' : `; executed in ${executed(result.gas, result.executionNanos)}`
  const blocks = result.blocks === 1 ? '1 block' : `${result.blocks} blocks`
  return `imported ${blocks} (${rates(result.blocks, result.gas, ms)})${known}${execution}${head}\n`
}

/**
 * The checks of a recorded block, and those that its recording does not allow; empty for block
 * files, which are verified in full.
 */
export function checksText(skipped: readonly string[]): string {
  if (skipped.length === 0) return ''
  const lines = skipped.map((sentence) => `not checked: ${sentence.replace(/: (.*)$/s, ' ($1)')}`)
  const verified = 'verified: the block was executed, and everything that the recording allows to check agrees with its header'
  return [verified, ...lines, ''].join('\n')
}

export const importCommand: Command = {
  name: 'import',
  doc: COMMAND_DOCS.import,
  more: [
    'FILE may be compressed with gzip; - is standard input.',
    'If a node runs on the data directory, it imports the files, under its own settings, and continues',
    'if this command is killed. --genesis and --case need a data directory without a running node.',
  ],
  flags: {
    ...HOME_FLAG,
    genesis: {
      value: 'FILE',
      doc: 'Genesis in go-ethereum format: required for a new data directory, compared with that of an existing chain.',
    },
    head: {
      value: 'HASH',
      doc: 'Make this block the head. Default: highest total difficulty before the merge, then the last valid block.',
    },
    case: { value: 'FILE', doc: 'A recorded block with its pre-state (JSON or JSON.gz), instead of block files.' },
  },
  files: { name: 'FILE', min: 0, max: 100_000 },
  settings: STORE_SETTINGS,
  async run(parsed, terminal) {
    const home = homeOf(parsed)
    const { settings, origins } = settingsOf(parsed, home, terminal)
    const base = storage(home, settings)
    // An import that a power cut stops continues where it was, so forcing each block to the disk
    // would only cost time.
    const fsync = origins['state-commit.flatkv.fsync'] === 'default' ? IMPORT_FSYNC : base.fsync
    const job = jobOf(parsed, { ...base, fsync })
    const done = await inHome(home, () => work(job, parsed, terminal))
    if (done === undefined) {
      terminal.err('stopped: the same command continues from here\n')
      return STOPPED_EXIT
    }
    terminal.out(summary(done.result, done.ms))
    terminal.out(checksText(done.result.skipped))
    return 0
  },
}
