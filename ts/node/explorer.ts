// Whether a node serves the explorer, and what its pages show of the node.

import fs from 'node:fs'
import path from 'node:path'
import { SettingError, type Settings } from '../config/index.ts'
import type { Mode } from '../core/config.ts'
import type { Core } from '../core/port.ts'
import { readJson } from '../core/results.ts'
import type { ServerHooks } from '../server/index.ts'
import type { IdentifyQuestion } from '../server/pages/artifacts.ts'
import { clientVersion } from './version.ts'

/**
 * Whether the setting, or the command, switches the explorer on; it is on the listener of HTTP
 * alone.
 */
export function servesExplorer(mode: Mode, settings: Settings): boolean {
  const asked = settings['evm.explorer']
  return settings['evm.http_enabled'] && (asked === 'auto' ? mode === 'dev' : asked)
}

/** Data source of the explorer for the server; undefined if the explorer is disabled. */
export function explorerSource(mode: Mode, settings: Settings, core: () => Core | undefined): ServerHooks['explorer'] {
  if (!servesExplorer(mode, settings)) return undefined
  return { core, mode, version: clientVersion(), baking: settings['evm.trace_bake_enabled'] }
}

/** Addresses of one request that are read at a time. */
const READS_MAX = 16

/** What code of an account that delegates begins with, before the address (EIP-7702). */
const DELEGATION = /^0xef0100([0-9a-f]{40})$/

/** The code that an account runs: its own, or that of the account to which it delegates. */
async function codeOf(core: Core, address: string, block: string): Promise<string> {
  const at = block.length === 66 ? { blockHash: block as `0x${string}` } : block
  const read = (of: string): Promise<string> => readJson(core, 'getCode', { address: of as `0x${string}`, block: at })
  const own = await read(address)
  const [, delegate] = DELEGATION.exec(own) ?? []
  return delegate === undefined ? own : await read(`0x${delegate}`)
}

/** Codes of accounts; an account whose code is not there has none. */
async function codesOf(core: Core | undefined, { block, addresses }: IdentifyQuestion): Promise<Map<string, string>> {
  const codes = new Map<string, string>()
  for (let i = 0; core !== undefined && i < addresses.length; i += READS_MAX) {
    const some = addresses.slice(i, i + READS_MAX)
    const read = await Promise.all(
      some.map((address) => codeOf(core, address, block).catch(() => codeOf(core, address, 'latest').catch(() => '0x'))),
    )
    for (const [n, address] of some.entries()) codes.set(address, read[n] as string)
  }
  return codes
}

/**
 * The artifacts of `evm.explorer_artifacts` for the explorer; undefined where there are none.
 * Throws `SettingError` for a folder that is none.
 */
export function explorerArtifacts(settings: Settings, core: () => Core | undefined): ServerHooks['artifacts'] {
  const folders = settings['evm.explorer_artifacts']
  if (folders.length === 0) return undefined
  const given = folders.map((folder) => path.resolve(folder))
  for (const folder of given) {
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new SettingError([{ where: `evm.explorer_artifacts: ${folder}`, message: 'is no folder' }])
  }
  // What reads artifacts is loaded with the first request: a node starts without it.
  const opened = late(async () => new (await import('../artifacts/index.ts')).ArtifactFolders(given))
  return {
    identify: async (question) => (await opened()).identify({ codes: await codesOf(core(), question), creations: question.creations }),
    source: async (id) => (await opened()).source(id),
  }
}

/** A value that is made at its first use. */
function late<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}
