// State sync: CometBFT brings the first state of a home, while the core opens.
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse as parseToml } from 'smol-toml'
import { ConsensusError } from './error.ts'
import { engineFile } from './layout.ts'

/** Time between two looks for the socket of the core, in milliseconds. */
const LOOK_EVERY_MS = 20

/**
 * Whether config.toml of a home's CometBFT enables state sync. CometBFT itself ignores it once it
 * has blocks. Throws `ConsensusError`.
 */
export function bringsState(home: string): boolean {
  const file = engineFile(home, 'config')
  if (!fs.existsSync(file)) return false
  try {
    const { statesync } = parseToml(fs.readFileSync(file, 'utf8')) as { readonly statesync?: { readonly enable?: unknown } }
    return statesync?.enable === true
  } catch (e) {
    throw new ConsensusError(`${file} cannot be read: ${e instanceof Error ? e.message : String(e)}`)
  }
}

/**
 * Identifies a socket, so that a new one at the same path can be recognised; undefined if there is
 * none, or the address is no file.
 */
export function socketMark(address: string): string | undefined {
  const path = /^unix:\/\/(.+)$/.exec(address)?.[1]
  const stat = path === undefined ? undefined : fs.statSync(path, { throwIfNoEntry: false })
  return stat && `${stat.ino} ${stat.ctimeMs}`
}

/**
 * Resolves once the core listens at an address in place of `before`, or `ended` reports that it
 * will not.
 */
export async function untilListening(address: string, before: string | undefined, ended: () => boolean): Promise<void> {
  const isFile = address.startsWith('unix://')
  while (isFile && !ended() && (socketMark(address) ?? before) === before) await sleep(LOOK_EVERY_MS)
}
