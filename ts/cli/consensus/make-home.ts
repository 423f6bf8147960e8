// Homes of nodes under CometBFT: the chain's first block, the files of CometBFT, the settings.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { isSettingKey, type Line, type SettingKey, type Settings, settingsFileText } from '../../config/index.ts'
import type { NodeOptions } from '../../consensus/config-toml.ts'
import { type EthGenesis, writeJson } from '../../consensus/eth-genesis.ts'
import { type KeyPair, newKeyPair } from '../../consensus/keys.ts'
import { engineHome } from '../../consensus/layout.ts'
import { writeEngineFiles } from '../../consensus/write.ts'
import { storage } from '../../node/node-config.ts'
import { settingsFile } from '../../node/settings-file.ts'
import { UsageError } from '../args.ts'
import type { Terminal } from '../command.ts'
import { runJob } from '../commands/job.ts'
import { makeHome } from '../home.ts'

/** The keys of a node. */
export interface NodeKeys {
  readonly validatorKey: KeyPair
  readonly nodeKey: KeyPair
}

/** New keys. */
export const newNodeKeys = (): NodeKeys => ({ validatorKey: newKeyPair(), nodeKey: newKeyPair() })

/** A home to make. */
export interface NewHome {
  readonly home: string
  readonly keys: NodeKeys
  readonly options: NodeOptions
  /** The genesis of the Ethereum chain, and CometBFT's genesis.json around it. */
  readonly appState: EthGenesis
  readonly genesis: string
  /** What its node.toml says; keys that this version does not have are left out. */
  readonly values: Readonly<Record<string, unknown>>
}

/** Throws `UsageError` where a home is there already: nothing of a network is ever overwritten. */
export function checkNew(home: string): void {
  const found = [settingsFile(home), engineHome(home), path.join(home, 'config', 'chain.json'), path.join(home, 'data')].find(fs.existsSync)
  if (found !== undefined) throw new UsageError(`${home} is a data directory already (${found} is there): name a new one with --home`)
}

/** Writes the files of CometBFT and the settings of a home that has its chain. */
export function writeNodeFiles({ home, keys, options, genesis, values }: Omit<NewHome, 'appState'>): void {
  writeEngineFiles(home, { ...keys, genesis, options })
  const given = Object.entries({ 'consensus.enabled': true, ...values }).filter(([key]) => isSettingKey(key))
  const lines = new Map(given.map(([key, value]): [SettingKey, Line] => [key as SettingKey, { value, above: [] }]))
  fs.writeFileSync(settingsFile(home), settingsFileText(lines), { mode: 0o600, flag: 'wx' })
}

/** The paths of what a folder has; none where there is no folder. */
const filesIn = (folder: string): string[] => (fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => path.join(folder, name)) : [])

/**
 * Makes a home. Resolves to its head, or to undefined if a signal stopped it. A failure leaves
 * nothing.
 */
export async function makeNetworkHome(
  { home, keys, options, appState, genesis, values }: NewHome,
  settings: Settings,
  terminal: Terminal,
): Promise<string | undefined> {
  checkNew(home)
  const isNew = !fs.existsSync(home)
  const before = new Set(filesIn(path.join(home, 'config')))
  makeHome(home)
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-genesis-'))
  let head: string | undefined
  try {
    const file = path.join(scratch, 'genesis.json')
    fs.writeFileSync(file, writeJson(appState))
    head = (await runJob({ job: 'init', genesis: file, ...storage(home, settings) }, terminal))?.result.head?.hash
    if (head === undefined) return undefined
    writeNodeFiles({ home, keys, options, genesis, values })
    return head
  } catch (e) {
    head = undefined
    throw e
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true })
    // What was there before was no home: only what was made here goes.
    if (head === undefined) {
      const settings = filesIn(path.join(home, 'config')).filter((file) => !before.has(file))
      const made = isNew
        ? [home]
        : [...(before.size === 0 ? [path.join(home, 'config')] : settings), path.join(home, 'data'), engineHome(home)]
      for (const one of made) fs.rmSync(one, { recursive: true, force: true })
    }
  }
}
