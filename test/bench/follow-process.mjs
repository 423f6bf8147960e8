// Followers as processes: how benches start one, and wait until it has a block.
import { spawnSync } from 'node:child_process'
import os from 'node:os'
import { freePort, HEARTH, started } from './process.mjs'
import { result } from './rpc.mjs'

/** Longest time for a follower to reach its upstream, in milliseconds. */
const CAUGHT_UP_MS = 300_000

/** Milliseconds between looks at the head of a follower that catches up. */
const LOOK_MS = 10

export const TRACE = { tracer: 'callTracer' }
export const hex = (n) => `0x${n.toString(16)}`
export const losing = (isLosing) => (isLosing ? '  LOSING' : '')
export const now = () => Number(process.hrtime.bigint()) / 1e6
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Whether two processes can have a processor each (taskset of util-linux). */
export const canPin = os.availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

/** A node whose process runs on one processor alone, or on all where none is named. */
export const startedOn = (processor, command, args, port) =>
  processor === undefined ? started(command, args, port) : started('taskset', ['-c', String(processor), command, ...args], port)

/**
 * A follower of a chain.
 *
 * @param {string} home
 * @param {string} upstream
 * @param {string} genesis
 * @param {{ settings?: string[], from?: number, processor?: number }} [options]
 */
export async function follower(home, upstream, genesis, { settings = [], from = 1, processor } = {}) {
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  const source = ['--upstream', upstream, '--genesis', genesis, '--from', String(from)]
  return await startedOn(processor, process.execPath, [HEARTH, 'follow', '--home', home, ...source, ...ports, ...settings], port)
}

/** Number of the newest block that a follower has; 0 before the first one. */
export const headOf = (url) => result(url, 'eth_blockNumber', []).then(Number, () => 0)

/** Waits until a follower has a block; number and time of its first head, and of this one. */
export async function reached(url, number) {
  let first
  for (const until = Date.now() + CAUGHT_UP_MS; Date.now() < until; await pause(LOOK_MS)) {
    const head = await headOf(url)
    first ??= head > 0 ? { head, at: now() } : undefined
    if (head >= number) return { first, last: { head, at: now() } }
  }
  throw new Error(`no block ${number} within ${CAUGHT_UP_MS} ms`)
}
