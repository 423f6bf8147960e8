// A node under attack: `hearth start` on a small chain, the system's figures of its process, and
// another client that measures.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

const READY_MS_MAX = 60_000

/**
 * Options of Node under which services start a node (docs/examples/hearth.service): without them a
 * young generation of the heap that doubles, up to 32 MiB, would count as memory of an attack.
 */
const NODE_OPTIONS = ['--max-semi-space-size=4']

const MIB = 1024 * 1024

/**
 * A command that runs. `ready` resolves to its addresses of HTTP, WebSocket and metrics.
 *
 * @typedef {{
 *   child: import('node:child_process').ChildProcessByStdio<
 *     null, import('node:stream').Readable, import('node:stream').Readable>,
 *   ended: Promise<number | string>,
 *   ready: Promise<[http: string, ws: string, metrics: string]>,
 * }} Started
 */

/**
 * Starts a command of the program.
 *
 * @returns {Started}
 */
export function start(program, args, env = process.env) {
  const ports = ['--evm.http_port=0', '--evm.ws_port=0', '--metrics.port=0']
  const child = spawn(process.execPath, [...NODE_OPTIONS, program, ...args, ...ports], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
  const ready = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not ready in ${READY_MS_MAX} ms:\n${log}`)), READY_MS_MAX)
    const take = (data) => {
      log += data
      const found = /ready.*(http:\/\/\S+?)[ ,].*(ws:\/\/[^\s,]+)/.exec(log)
      if (found === null) return
      clearTimeout(timer)
      const metrics = /http:\/\/[^\s",]+\/metrics/.exec(log)?.[0] ?? ''
      resolve([found[1], found[2], metrics])
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    void ended.then((how) => reject(new Error(`ended with ${how}:\n${log}`)))
  })
  return { child, ended, ready }
}

/** Makes a home with a chain of one block. */
export async function makeHome(program) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-abuse-'))
  const { child, ended, ready } = start(program, ['dev', '--home', home])
  await ready
  child.kill('SIGTERM')
  await ended
  return home
}

const statusOf = (pid, field) => {
  const text = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0) / 1024
}

/** The highest memory of a process so far, in MiB; 0 once it is gone. */
export function peakMiBOf(pid) {
  try {
    return statusOf(pid, 'VmHWM')
  } catch {
    return 0
  }
}

/** A node on a home, with the other client. */
export class Attacked {
  constructor(child, ended, [url, ws, metrics], neighbour) {
    this.url = url
    this.ws = ws
    this.metrics = metrics
    this.ended = ended
    this.child = child
    this.neighbour = neighbour
  }

  /** `settings` as flags. */
  static async open(program, home, settings) {
    const { child, ended, ready } = start(program, ['start', '--home', home, ...settings])
    const urls = await ready
    const neighbour = new Worker(new URL('./neighbour.mjs', import.meta.url), { workerData: urls[0] })
    // The first requests compile what serves them.
    await sleep(1500)
    return new Attacked(child, ended, urls, neighbour)
  }

  get pid() {
    return this.child.pid
  }

  /** What the other client measured since the last call. */
  measured() {
    return new Promise((resolve) => {
      this.neighbour.once('message', resolve)
      this.neighbour.postMessage('take')
    })
  }

  /**
   * Time that the main thread has run, in milliseconds. It does not depend on the load of the
   * machine.
   */
  threadMs() {
    return Number(fs.readFileSync(`/proc/${this.pid}/task/${this.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  }

  memoryMiB() {
    return statusOf(this.pid, 'VmRSS')
  }

  /** The highest memory since the last `resetPeak`. */
  peakMiB() {
    return statusOf(this.pid, 'VmHWM')
  }

  resetPeak() {
    fs.writeFileSync(`/proc/${this.pid}/clear_refs`, '5')
  }

  /** Files and sockets that the process has open. */
  openFiles() {
    return fs.readdirSync(`/proc/${this.pid}/fd`).length
  }

  /** Whether the process is there. */
  get isAlive() {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  async close() {
    this.neighbour.postMessage('stop')
    this.child.kill('SIGTERM')
    const late = setTimeout(() => this.child.kill('SIGKILL'), 30_000)
    await this.ended
    clearTimeout(late)
  }
}

/** The value that a part of the measurements is at most. */
export function percentile(values, part) {
  if (values.length === 0) return Number.NaN
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
}

export { MIB }
