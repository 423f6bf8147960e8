// A program named cometbft whose runs a test defines one by one: a script with the build
// information of a Go program in it.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { engineFile, engineHome } from '../../ts/consensus/layout.ts'

/**
 * One run: it prints lines, then ends with a status, or stays until a signal; `deaf` stays until
 * SIGKILL.
 */
export interface FakeRun {
  readonly lines?: readonly string[]
  readonly ends: number | 'stay' | 'deaf'
}

/** What a run was started with. */
export interface FakeStart {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly pid: number
}

const PROGRAM = `#!${process.execPath}
// path\tgithub.com/cometbft/cometbft/cmd/cometbft
// mod\tgithub.com/cometbft/cometbft\tvVERSION\th1:abc=
const fs = require('node:fs')
const path = require('node:path')
const folder = __dirname
const starts = path.join(folder, 'starts')
const runs = JSON.parse(fs.readFileSync(path.join(folder, 'plan'), 'utf8'))
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('CMT_')))
const before = fs.existsSync(starts) ? fs.readFileSync(starts, 'utf8').split('\\n').length - 1 : 0
const { lines = [], ends } = runs[Math.min(before, runs.length - 1)]
if (ends === 'deaf') process.on('SIGTERM', () => {})
fs.appendFileSync(starts, JSON.stringify({ args: process.argv.slice(2), env, pid: process.pid }) + '\\n')
fs.writeSync(1, lines.map((line) => line + '\\n').join(''))
if (typeof ends === 'number') process.exit(ends)
setInterval(() => {}, 1000)
`

/** Such a program in a folder of its own. */
export class FakeCometbft {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-cometbft-'))
  readonly program = path.join(this.folder, 'cometbft')

  constructor(runs: readonly FakeRun[], version = '0.38.26') {
    fs.writeFileSync(this.program, PROGRAM.replace('VERSION', version), { mode: 0o755 })
    this.plan(runs)
  }

  /** The runs, the last one again and again. */
  plan(runs: readonly FakeRun[]): void {
    fs.writeFileSync(path.join(this.folder, 'plan'), JSON.stringify(runs))
  }

  /** The runs that began so far. */
  starts(): FakeStart[] {
    try {
      const text = fs.readFileSync(path.join(this.folder, 'starts'), 'utf8')
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as FakeStart)
    } catch {
      return []
    }
  }

  remove(): void {
    fs.rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A line of CometBFT's log. */
export const engineLine = (level: string, message: string, fields: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({ _msg: message, level, module: 'consensus', ts: '2026-01-02T03:04:05Z', ...fields })

const cleanups: (() => void | Promise<void>)[] = []

/** To be called after the test, the last one first. */
export const afterwards = (clean: () => void | Promise<void>): void => void cleanups.push(clean)

/** Calls them; to be registered with `afterEach`. */
export async function cleanUp(): Promise<void> {
  for (const clean of cleanups.splice(0).reverse()) await clean()
}

/** Such a program, gone after the test. */
export function fake(runs: readonly FakeRun[], version?: string): FakeCometbft {
  const made = new FakeCometbft(runs, version)
  afterwards(() => made.remove())
  return made
}

/** A folder that is gone after the test. */
export function newFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
  afterwards(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A home with the files by which it is known as one under CometBFT. */
export function newHome(): string {
  const home = newFolder()
  for (const folder of ['config', 'data']) fs.mkdirSync(path.join(engineHome(home), folder), { recursive: true })
  fs.mkdirSync(path.join(home, 'data'))
  fs.writeFileSync(engineFile(home, 'genesis'), '{}')
  return home
}

/** Whether a process is there and has not ended. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
