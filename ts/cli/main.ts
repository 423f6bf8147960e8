#!/usr/bin/env node
// The program `hearth`.
import { loadProgram } from './load.ts'

// A reader that has seen enough (`hearth config | head`) is no failure.
process.stdout.on('error', (e: NodeJS.ErrnoException) => process.exit(e.code === 'EPIPE' ? 0 : 1))

async function run(): Promise<void> {
  const { main } = await loadProgram()
  process.exitCode = await main(process.argv.slice(2), {
    out: (text) => process.stdout.write(text),
    write: (bytes) =>
      new Promise((resolve) => {
        if (process.stdout.write(bytes)) resolve()
        else process.stdout.once('drain', resolve)
      }),
    err: (text) => process.stderr.write(text),
    interactive: process.stderr.isTTY === true,
  })
}

void run()
