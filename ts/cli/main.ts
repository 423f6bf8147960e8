#!/usr/bin/env node
// The program `hearth`.
import { main } from './run.ts'

process.exitCode = await main(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  interactive: process.stderr.isTTY === true,
})
