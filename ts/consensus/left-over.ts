// A CometBFT that is left over from a killed Hearth. CometBFT ends itself some time after the
// socket of its application is gone. Two of them on one home would sign twice, so no other one is
// started before that.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConsensusError } from './error.ts'
import { engineFile, engineHome, FOR_ALL } from './layout.ts'

/**
 * How long such a process may take to end by itself, then after SIGTERM, then after SIGKILL, in
 * milliseconds.
 */
export const LEFT_OVER_MS = { alone: 3000, term: 10_000, kill: 5000 } as const

/** Time between two looks, in milliseconds. */
const LOOK_EVERY_MS = 20

/** What Hearth starts CometBFT with: by these words it knows its own again. */
export const startArguments = (home: string, proxyApp: string): string[] => ['start', '--home', engineHome(home), `--proxy_app=${proxyApp}`]

/** The words of a command line; undefined where there is no such process, or one that has ended. */
function commandLine(pid: number, proc: string): string[] | undefined {
  try {
    const words = fs.readFileSync(path.join(proc, String(pid), 'cmdline'), 'utf8').split('\0')
    return words.length > 1 ? words : undefined
  } catch {
    return undefined
  }
}

/** Whether a process is a CometBFT on a home; `ours` where Hearth started it. */
function engineOn(home: string, pid: number, proc: string): 'ours' | 'foreign' | undefined {
  const words = commandLine(pid, proc)
  if (words === undefined) return undefined
  const isEngine = words.slice(0, 2).some((word) => path.basename(word).startsWith('cometbft'))
  const place = engineHome(home)
  const isHere = words.some((word, i) => word === `--home=${place}` || (word === '--home' && words[i + 1] === place))
  if (!isEngine || !isHere) return undefined
  const [start, ...more] = startArguments(home, '')
  const at = words.indexOf(start as string)
  const isOurs = more.every((word, i) => words[at + 1 + i]?.startsWith(word))
  return isOurs ? 'ours' : 'foreign'
}

/** Every CometBFT that runs on a home. */
function enginesOn(home: string, proc: string): { readonly pid: number; readonly whose: 'ours' | 'foreign' }[] {
  let names: string[]
  try {
    names = fs.readdirSync(proc).filter((name) => /^\d+$/.test(name))
  } catch {
    // No /proc: the file says which process it was.
    names = [String(readPid(home) ?? '')].filter((name) => name !== '')
  }
  return names.flatMap((name) => {
    const whose = engineOn(home, Number(name), proc)
    return whose === undefined ? [] : [{ pid: Number(name), whose }]
  })
}

/** Writes down which process is the CometBFT of a home. */
export const writePid = (home: string, pid: number): void => fs.writeFileSync(engineFile(home, 'pid'), `${pid}\n`, { mode: FOR_ALL })

/** It has ended. */
export const removePid = (home: string): void => fs.rmSync(engineFile(home, 'pid'), { force: true })

/** The process that was the CometBFT of a home last; undefined where none is written down. */
export function readPid(home: string): number | undefined {
  try {
    const pid = Number(fs.readFileSync(engineFile(home, 'pid'), 'utf8').trim())
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It is gone.
  }
}

/** Where it is looked, and for how long. */
interface Look {
  readonly proc?: string
  readonly ms?: { readonly alone: number; readonly term: number; readonly kill: number }
}

/**
 * Resolves once no CometBFT runs on a home any more. The caller holds the lock of the home, so no
 * Hearth runs there. `say` gets each step. Rejects with `ConsensusError` if Hearth did not start
 * the one that runs, or it does not end.
 */
export async function endLeftOver(home: string, say: (what: string, pid: number) => void, look: Look = {}): Promise<void> {
  const { proc = '/proc', ms = LEFT_OVER_MS } = look
  const goneWithin = async (limitMs: number): Promise<boolean> => {
    for (const end = performance.now() + limitMs; enginesOn(home, proc).length > 0; await sleep(LOOK_EVERY_MS))
      if (performance.now() > end) return false
    return true
  }
  const [first] = enginesOn(home, proc)
  if (first !== undefined) {
    say('waiting for the CometBFT of an earlier run to end', first.pid)
    if (!(await goneWithin(ms.alone))) {
      const foreign = enginesOn(home, proc).find(({ whose }) => whose === 'foreign')
      if (foreign !== undefined)
        throw new ConsensusError(
          `process ${foreign.pid} is a CometBFT on ${engineHome(home)} that Hearth did not start: stop it, or let it be and start Hearth with --consensus.supervise=false and --consensus.abci_address`,
        )
      await end('SIGTERM', ms.term)
      await end('SIGKILL', ms.kill)
    }
  }
  removePid(home)
  const [left] = enginesOn(home, proc)
  if (left !== undefined) throw new ConsensusError(`process ${left.pid}, a CometBFT on ${engineHome(home)}, does not end: end it by hand`)

  async function end(name: NodeJS.Signals, limitMs: number): Promise<void> {
    const engines = enginesOn(home, proc)
    if (engines.length === 0) return
    for (const { pid } of engines) {
      say(`ending the CometBFT of an earlier run with ${name}`, pid)
      signal(pid, name)
    }
    await goneWithin(limitMs)
  }
}
