// The files of CometBFT in a backup: what a node is, without what only one process may have.
import fs from 'node:fs'
import path from 'node:path'
import { type ENGINE_FILES, engineFile } from './layout.ts'

type File = keyof typeof ENGINE_FILES

/** Settings, genesis and the key by which peers know the node. */
const ALWAYS: readonly File[] = ['config', 'genesis', 'nodeKey']

/** The key by which the validator votes, and what it signed last: the one must not be used without
 * the other. */
const OF_VALIDATOR: readonly File[] = ['validatorKey', 'validatorState']

/** Whether a home has files of CometBFT. */
export const engineFilesIn = (home: string): boolean => fs.existsSync(engineFile(home, 'genesis'))

/** Copies the files of CometBFT from a home into a backup of it, with their modes; does nothing
 * where the home has none. */
export function keepEngineFiles(home: string, backup: string, withValidatorKey: boolean): void {
  if (!engineFilesIn(home)) return
  for (const file of withValidatorKey ? [...ALWAYS, ...OF_VALIDATOR] : ALWAYS) {
    const [from, to] = [engineFile(home, file), engineFile(backup, file)]
    if (!fs.existsSync(from)) continue
    fs.mkdirSync(path.dirname(to), { recursive: true, mode: 0o700 })
    fs.copyFileSync(from, to)
    fs.chmodSync(to, fs.statSync(from).mode & 0o777)
  }
}
