// The file by which other processes find a running node: data/node.json of the home, which exists
// while the node runs. If its listeners require tokens, the file data/node.token has one for this
// run, which only its owner may read.
import fs from 'node:fs'
import path from 'node:path'
import type { Mode } from '../core/config.ts'
import type { Baking } from './baked.ts'

/** A node that runs, as it says of itself. */
export interface RunningNode {
  readonly pid: number
  /** Whether it makes blocks (`dev`) or serves those that are there. */
  readonly mode: Mode
  /** What becomes of the transactions that it is sent, in a few words. */
  readonly transactions: string
  /** Result of web3_clientVersion. */
  readonly version: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly httpUrl: string | null
  readonly wsUrl: string | null
  /** Of debug methods alone. */
  readonly debugUrl: string | null
  readonly metricsUrl: string | null
  /** What it bakes; null where that is nothing. */
  readonly baking: Baking | null
  /** The RPC of CometBFT; null where the node runs without it. */
  readonly consensusUrl?: string | null
  /** The node that `hearth follow` follows, without secret parts; null for any other node. */
  readonly upstream?: string | null
}

const fileOf = (home: string): string => path.join(home, 'data', 'node.json')

const tokenFileOf = (home: string): string => path.join(home, 'data', 'node.token')

/** Modes of files for everyone to read, and for their owner alone. */
const [FOR_ALL, FOR_OWNER] = [0o644, 0o600]

/** Writes a file that is whole or not there. */
function write(file: string, pid: number, text: string, mode: number): void {
  const draft = `${file}.${pid}`
  // One that is there keeps its mode.
  fs.rmSync(draft, { force: true })
  fs.writeFileSync(draft, text, { mode, flag: 'wx' })
  fs.renameSync(draft, file)
}

/** Says that this process runs the node of a home; `token` is the one that its listeners let in. */
export function writeRunning(home: string, node: RunningNode, token?: string): void {
  fs.rmSync(tokenFileOf(home), { force: true })
  if (token !== undefined) write(tokenFileOf(home), node.pid, `${token}\n`, FOR_OWNER)
  write(fileOf(home), node.pid, `${JSON.stringify(node, null, 2)}\n`, FOR_ALL)
}

/** The node of a home stops; files of another process stay. */
export function removeRunning(home: string, pid: number): void {
  if (read(home)?.pid !== pid) return
  for (const file of [fileOf(home), tokenFileOf(home)]) fs.rmSync(file, { force: true })
}

/**
 * The token of the node that runs on a home; undefined if it has none, or this user may not read
 * it.
 */
export function runTokenOf(home: string): string | undefined {
  try {
    return fs.readFileSync(tokenFileOf(home), 'utf8').trim()
  } catch {
    return undefined
  }
}

/**
 * The node with which process `pid` serves a home, according to its file; undefined if the file is
 * missing, or of another process.
 */
export function findRunning(home: string, pid: number): RunningNode | undefined {
  const node = read(home)
  return node?.pid === pid ? node : undefined
}

function read(home: string): RunningNode | undefined {
  try {
    const node = JSON.parse(fs.readFileSync(fileOf(home), 'utf8')) as RunningNode
    return Number.isSafeInteger(node?.pid) && node.pid > 0 ? node : undefined
  } catch {
    return undefined
  }
}
