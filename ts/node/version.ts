// Name and version of this program.
import fs from 'node:fs'
import path from 'node:path'

const manifest = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string }

/** Version of the package. */
export const VERSION = manifest.version

const PLATFORM = `${process.platform}-${process.arch}/node${process.versions.node}`

/**
 * The answer of web3_clientVersion: `hearth/v0.1.0/linux-x64/node20.20.2`. On a development chain
 * it begins with `anvil/`, which test helpers look for.
 */
export const clientVersion = (dev = false): string => (dev ? `anvil/v${VERSION}-hearth/${PLATFORM}` : `hearth/v${VERSION}/${PLATFORM}`)
