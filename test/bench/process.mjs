// Nodes as processes: free ports, starting and stopping, and the memory that they take.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { ROOT } from '../../native/setup/env.mjs'
import { freePort } from '../free-port.mjs'
import { result } from './rpc.mjs'

/** Milliseconds that a node may take to answer for the first time. */
const START_MS = 60_000

/** Characters of a node's output that are kept for the error. */
const LOG_MAX = 4000

/** Our command. */
export const HEARTH = path.join(ROOT, 'dist/cli/hearth.cjs')

export { freePort }

/**
 * The environment of a program whose whole run is measured: without the variable by which Node
 * reads the certificates of a machine at each start, 34 ms of the 53 that an empty program takes
 * then. It has nothing to do with the measured programs, and a user's machine has none.
 */
export function environment() {
  const { NODE_EXTRA_CA_CERTS: _, ...rest } = process.env
  return rest
}

/** Starts a node and waits until it answers. */
export async function started(command, args, port) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (d) => {
      log = (log + d).slice(-LOG_MAX)
    })
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  const url = `http://127.0.0.1:${port}`
  for (const until = Date.now() + START_MS; Date.now() < until && child.exitCode === null; ) {
    try {
      await result(url, 'eth_blockNumber', [])
      return { url, pid: child.pid, stop }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  child.kill('SIGKILL')
  throw new Error(`${command} gave no answer in ${START_MS} ms:\n${log}`)
}

/** Runs a command to its end; throws with its output where it fails. */
export function run(command, args) {
  const r = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  if (r.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${r.status ?? r.signal}:\n${r.stderr?.slice(-2000)}`)
}

/** Imports a generated chain into a new home. */
export function importChain(home, { dir }) {
  const files = ['--genesis', path.join(dir, 'genesis.json'), path.join(dir, 'chain.rlp')]
  run(process.execPath, [HEARTH, 'import', '--home', home, ...files])
}

/** `hearth start` on a home that has its chain. */
export async function serveHearth(home, settings = []) {
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  return started(process.execPath, [HEARTH, 'start', '--home', home, ...ports, ...settings], port)
}

/**
 * Resident memory of a process in MiB, now (`VmRSS`) or at its peak (`VmHWM`); undefined if the
 * system does not report it.
 */
export function memoryMiB(pid, field) {
  const file = `/proc/${pid}/status`
  const kib = fs.existsSync(file) && new RegExp(`${field}:\\s+(\\d+)`).exec(fs.readFileSync(file, 'utf8'))?.[1]
  return kib ? Number(kib) / 1024 : undefined
}

/**
 * Growth of a process's peak resident memory during `work`, in MiB; undefined if the system does
 * not report it.
 */
export async function addedMiB(pid, work) {
  const before = memoryMiB(pid, 'VmRSS')
  // Makes the kernel forget the peak so far (proc(5)).
  if (before !== undefined) fs.writeFileSync(`/proc/${pid}/clear_refs`, '5')
  await work()
  const peak = memoryMiB(pid, 'VmHWM')
  return before === undefined || peak === undefined ? undefined : Math.max(0, peak - before)
}
