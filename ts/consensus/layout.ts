// Where the files of CometBFT lie in a home: HOME/cometbft is what `cometbft --home` takes.
import path from 'node:path'

/** Modes of what only its owner may read, and of what anyone may. */
export const [FOR_OWNER, FOR_ALL] = [0o600, 0o644]

/** The folder of CometBFT in a home. */
export const engineHome = (home: string): string => path.join(home, 'cometbft')

/** Paths below the folder of CometBFT. */
export const ENGINE_FILES = {
  config: 'config/config.toml',
  genesis: 'config/genesis.json',
  validatorKey: 'config/priv_validator_key.json',
  nodeKey: 'config/node_key.json',
  validatorState: 'data/priv_validator_state.json',
  /** The process that Hearth started. */
  pid: 'cometbft.pid',
} as const

/** The path of one of these files in a home. */
export const engineFile = (home: string, file: keyof typeof ENGINE_FILES): string => path.join(engineHome(home), ENGINE_FILES[file])
