// Where CometBFT finds its application: a Unix socket in the home, or what the settings say.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ConsensusError } from './error.ts'

/** Bytes of the path of a Unix socket: `sun_path` of unix(7) holds 108 with its end. */
export const SOCKET_PATH_BYTES_MAX = 107

const UNIX = 'unix://'

const fits = (file: string): boolean => Buffer.byteLength(file) <= SOCKET_PATH_BYTES_MAX

/** An address of the application. */
export interface AbciAddress {
  /** As `unix:///PATH` or `tcp://HOST:PORT`. */
  readonly address: string
  /** Removes what was made for it. */
  remove(): void
}

/**
 * The address for a home; `setting` is `auto` or an address. Throws `ConsensusError` if the path of
 * a socket is too long.
 */
export function abciAddress(home: string, setting: string, temporary = os.tmpdir()): AbciAddress {
  const keep = { remove: () => undefined }
  if (setting !== 'auto') {
    const file = setting.startsWith(UNIX) ? setting.slice(UNIX.length) : ''
    if (fits(file)) return { address: setting, ...keep }
    const bytes = Buffer.byteLength(file)
    throw new ConsensusError(
      `the path of the socket ${file} (consensus.abci_address) has ${bytes} bytes; ${SOCKET_PATH_BYTES_MAX} are possible: choose a shorter one, or auto`,
    )
  }
  const inHome = path.join(home, 'data', 'abci.sock')
  if (fits(inHome)) return { address: `${UNIX}${inHome}`, ...keep }
  // mkdtemp makes it for its owner alone.
  const folder = fs.mkdtempSync(path.join(temporary, 'hearth-abci-'))
  const file = path.join(folder, 'abci.sock')
  if (!fits(file)) {
    fs.rmSync(folder, { recursive: true })
    throw new ConsensusError(`the path ${file} is too long for a socket: name a shorter one with --consensus.abci_address=unix:///PATH`)
  }
  return { address: `${UNIX}${file}`, remove: () => fs.rmSync(folder, { recursive: true, force: true }) }
}
