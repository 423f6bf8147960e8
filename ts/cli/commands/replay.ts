// hearth replay: traces of files, without a home. Standard output contains only the traces.

import { startReplay } from '../../core/native.ts'
import type { JsonObject } from '../../core/port.ts'
import { scriptsConfig } from '../../node/node-config.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Command } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { settingsOf } from '../home.ts'
import { onStop } from '../signals.ts'
import { inputFile, STOPPED_EXIT } from './job.ts'

/** Most files of one call, and most configurations. */
const FILES_MAX = 100_000
const TRACES_MAX = 64

/** Parses a trace configuration of the command line: JSON, or the name of a tracer. */
export function traceOf(text: string): JsonObject {
  if (!text.trimStart().startsWith('{')) {
    if (text.trim() === '') throw new UsageError('--trace takes a configuration as JSON or the name of a tracer, not an empty text')
    return { tracer: text.trim() }
  }
  try {
    return JSON.parse(text) as JsonObject
  } catch (e) {
    throw new UsageError(`--trace ${text}: ${e instanceof Error ? e.message : String(e)}`)
  }
}

function traces(parsed: Parsed): JsonObject[] {
  const given = parsed.lists.get('trace') ?? []
  if (given.length > TRACES_MAX) throw new UsageError(`--trace is given ${given.length} times, at most ${TRACES_MAX} are allowed`)
  return given.map(traceOf)
}

function position(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const n = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(n))
    throw new UsageError(`--tx takes the position of a transaction, from 0, not ${JSON.stringify(text)}`)
  return n
}

export const replay: Command = {
  name: 'replay',
  doc: COMMAND_DOCS.replay,
  flags: {
    trace: {
      value: 'CONFIG',
      many: true,
      doc: 'The second parameter of debug_traceTransaction as JSON, or the name of a tracer; once for each line of output. Default: the struct logger.',
    },
    tx: { value: 'N', doc: 'Only the transaction at this position, from 0. Default: all of a block.' },
  },
  files: { name: 'FILE', min: 1, max: FILES_MAX },
  async run(parsed, terminal) {
    const files = parsed.files.map((file) => inputFile(file, 'the file'))
    const scripts = scriptsConfig(settingsOf(parsed, undefined, terminal).settings)
    const stream = startReplay({ files, traces: traces(parsed), tx: position(parsed.flags.get('tx')), scripts })
    let stopped = false
    const forget = onStop(() => {
      stopped = true
      stream.cancel()
    })
    try {
      for (let chunk = await stream.next(); chunk !== null && !stopped; chunk = await stream.next()) await terminal.write(chunk)
      return stopped ? STOPPED_EXIT : 0
    } finally {
      forget()
    }
  },
}
