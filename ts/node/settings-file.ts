// The settings file of a data directory.
import path from 'node:path'

/** Where a home keeps its settings. */
export const settingsFile = (home: string): string => path.join(home, 'config', 'node.toml')
