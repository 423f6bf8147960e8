// The file by which a running node is found: data/node.json of the home, there while the node runs.
import fs from 'node:fs'
import path from 'node:path'

/** A node that runs, as it says of itself. */
export interface RunningNode {
  readonly pid: number
  /** What web3_clientVersion answers. */
  readonly version: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly httpUrl: string | null
  readonly wsUrl: string | null
  /** Of debug methods alone. */
  readonly debugUrl: string | null
  readonly metricsUrl: string | null
}

const fileOf = (home: string): string => path.join(home, 'data', 'node.json')

/** Says that this process runs the node of a home. The file is whole or not there. */
export function writeRunning(home: string, node: RunningNode): void {
  const file = fileOf(home)
  const draft = `${file}.${node.pid}`
  fs.writeFileSync(draft, `${JSON.stringify(node, null, 2)}\n`)
  fs.renameSync(draft, file)
}

/** The node of a home stops; a file of another process stays. */
export function removeRunning(home: string, pid: number): void {
  if (read(home)?.pid === pid) fs.rmSync(fileOf(home), { force: true })
}

/** The node that runs on a home; undefined where none does. A node that was killed leaves a file of a process that is gone. */
export function findRunning(home: string): RunningNode | undefined {
  const node = read(home)
  return node !== undefined && isAlive(node.pid) ? node : undefined
}

function read(home: string): RunningNode | undefined {
  try {
    const node = JSON.parse(fs.readFileSync(fileOf(home), 'utf8')) as RunningNode
    return Number.isSafeInteger(node?.pid) && node.pid > 0 ? node : undefined
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (e) {
    // A process of somebody else lives too.
    return (e as NodeJS.ErrnoException).code === 'EPERM'
  }
}
