// Runs the built program as a user would: one command to its end, or a node until it is stopped.
import { type ChildProcess, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll } from 'vitest'

/** Root of the checkout. */
export const ROOT = path.resolve(import.meta.dirname, '../..')

const MAIN = path.join(ROOT, 'dist/cli/hearth.cjs')

/**
 * How long a node may take until it is ready, in milliseconds: less than a test may take, so that
 * the failure has the node's log.
 */
const READY_MS_MAX = 200_000

/** Runs `hearth` with these arguments to its end. */
export function hearth(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  user: { readonly uid?: number; readonly gid?: number } = {},
): SpawnSyncReturns<string> {
  const options = { encoding: 'utf8', maxBuffer: 1 << 30, env: { ...process.env, ...env }, ...user } as const
  return spawnSync(process.execPath, [MAIN, ...args], options)
}

/** The processes that run: a test that fails does not stop its node. */
const running = new Set<ChildProcess>()
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts `hearth` with these arguments and does not wait; it ends with the file of tests. */
export function spawnHearth(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** A fresh folder for a home. */
export const tempHome = (): string => fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))

/** Longest wait for the output of an ended process whose children keep it open, in milliseconds. */
const OUTPUT_MS_MAX = 5000

/**
 * Resolves to the exit code of a process, or the signal that ended it, once its output has arrived:
 * `exit` comes before the last lines.
 */
export function endOf(child: ChildProcess): Promise<number | string | null> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code))
    child.once('exit', (code, signal) => setTimeout(() => resolve(signal ?? code), OUTPUT_MS_MAX).unref())
  })
}

/** A node that runs. */
export interface RunningNode {
  /** JSON-RPC over HTTP, and over WebSocket by upgrade. */
  readonly url: string
  /** JSON-RPC over WebSocket alone. */
  readonly ws: string
  /** The scrape page; undefined where metrics are off. */
  readonly metrics: string | undefined
  readonly pid: number
  /** What it printed. */
  readonly log: () => string
  /** Stops it; resolves to its exit code, or the signal that ended it. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | string | null>
}

/** Starts `hearth start` or `hearth dev` on free ports and waits until it says that it is ready. */
export async function startNode(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RunningNode> {
  const child = spawnHearth([...args, '--evm.http_port=0', '--evm.ws_port=0', '--metrics.port=0'], env)
  let log = ''
  const ended = endOf(child)
  const [url, ws] = await new Promise<[string, string]>((resolve, reject) => {
    const fail = (why: string): void => {
      child.kill('SIGKILL')
      reject(new Error(`${why}:\n${log}`))
    }
    const timer = setTimeout(() => fail(`no answer in ${READY_MS_MAX} ms`), READY_MS_MAX)
    const take = (data: Buffer): void => {
      log += data.toString()
      const found = /ready.*(http:\/\/\S+?)[ ,].*(ws:\/\/[^\s,]+)/.exec(log)
      if (found === null) return
      clearTimeout(timer)
      resolve([found[1] as string, found[2] as string])
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    void ended.then((how) => fail(`the node ended with ${how}`))
  })
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string | null> => {
    child.kill(signal)
    return ended
  }
  const metrics = /^Metrics are on (\S+)$/m.exec(log)?.[1]
  return { url, ws, metrics, pid: child.pid as number, log: () => log, stop }
}

/** A line of a log in JSON. */
export type LogLine = Readonly<Record<string, string | number>>

/** The lines of a node's log that are JSON. Of the last line a part may be here: it is left out. */
export const logLines = (node: RunningNode): LogLine[] =>
  node
    .log()
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine)

/** One JSON-RPC call over HTTP: the parsed answer. */
export async function rpc(
  url: string,
  method: string,
  params: unknown[] = [],
): Promise<{ result?: unknown; error?: { code: number; message: string; data?: unknown } }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await response.json()) as Awaited<ReturnType<typeof rpc>>
}

/**
 * Switches the console of a development chain off: its reads about blocks would count in metrics.
 */
export async function quiet(node: RunningNode): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'hardhat_setLoggingEnabled', params: [false] })
  const response = await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  if (!response.ok) throw new Error(`the console cannot be switched off: ${response.status}`)
}
