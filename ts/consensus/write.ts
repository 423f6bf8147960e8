// The files of CometBFT in a new home.
import fs from 'node:fs'
import path from 'node:path'
import { configToml, type NodeOptions } from './config-toml.ts'
import { type KeyPair, NEW_VALIDATOR_STATE, nodeKeyFile, validatorKeyFile } from './keys.ts'
import { type ENGINE_FILES, engineFile, FOR_ALL, FOR_OWNER } from './layout.ts'

/** What a node is. */
export interface EngineFiles {
  readonly validatorKey: KeyPair
  readonly nodeKey: KeyPair
  /** The text of CometBFT's genesis.json. */
  readonly genesis: string
  readonly options: NodeOptions
}

/** Writes them; none of them may be there. */
export function writeEngineFiles(home: string, { validatorKey, nodeKey, genesis, options }: EngineFiles): void {
  const config = configToml(options)
  const write = (file: keyof typeof ENGINE_FILES, text: string, mode: number): void => {
    const place = engineFile(home, file)
    fs.mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 })
    fs.writeFileSync(place, text, { mode, flag: 'wx' })
  }
  write('validatorKey', validatorKeyFile(validatorKey), FOR_OWNER)
  write('nodeKey', nodeKeyFile(nodeKey), FOR_OWNER)
  write('validatorState', NEW_VALIDATOR_STATE, FOR_OWNER)
  write('genesis', genesis, FOR_ALL)
  write('config', config, FOR_ALL)
}
