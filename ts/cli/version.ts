// Name and version of this program.
import fs from 'node:fs'

const manifest = JSON.parse(fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

/** Version of the package. */
export const VERSION = manifest.version

/** What web3_clientVersion answers: `Hearth/v0.1.0/linux-x64/node20.20.2`. */
export const clientVersion = (): string => `Hearth/v${VERSION}/${process.platform}-${process.arch}/node${process.versions.node}`
