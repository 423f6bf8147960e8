#!/usr/bin/env node
// The program `hearth`.
import { isatty } from 'node:tty'
import { askIn } from './ask.ts'
import { brief } from './brief.ts'
import { loadProgram } from './load.ts'

/** Width of a terminal that does not say how wide it is, in characters. */
const COLUMNS = 120

/** File descriptor of standard input. */
const STDIN = 0

/** Whether this is a node, which must close its stores whatever happens to its output. */
let isServing = false

// A reader that has seen enough (`hearth config | head`) is no failure.
process.stdout.on('error', (e: NodeJS.ErrnoException) => {
  if (!isServing) process.exit(e.code === 'EPIPE' ? 0 : 1)
})
// A log without a reader (`hearth start 2>&1 | tee log`, where Ctrl-C ends tee first) is dropped.
process.stderr.on('error', () => undefined)

/**
 * Time for what is still open once a node is closed, in milliseconds: an exporter of OpenTelemetry
 * may still try its last push again.
 */
const EXIT_WAIT_MS = 200

async function run(argv: readonly string[]): Promise<void> {
  const { main } = await loadProgram()
  process.exitCode = await main(argv, {
    out: (text) => process.stdout.write(text),
    write: (bytes) =>
      new Promise((resolve) => {
        if (process.stdout.write(bytes)) resolve()
        else process.stdout.once('drain', resolve)
      }),
    err: (text) => process.stderr.write(text),
    columns: process.stdout.isTTY === true ? process.stdout.columns || COLUMNS : undefined,
    interactive: process.stderr.isTTY === true,
    ask: process.stderr.isTTY === true && isatty(STDIN) ? (question) => askIn(question, process.stdin, process.stderr) : undefined,
    serving: () => {
      isServing = true
    },
    closed: () => void setTimeout(() => process.exit(), EXIT_WAIT_MS).unref(),
  })
}

const argv = process.argv.slice(2)
const printed = brief(argv)
if (printed === undefined) void run(argv)
else {
  process.stdout.write(printed.text)
  process.exitCode = printed.code
}
