// Files of a chain's state: JSON as anvil writes it, or that in gzip.

import fs from 'node:fs'
import zlib from 'node:zlib'
import type { Core } from '../../core/port.ts'
import { readJson } from '../../core/results.ts'

/** Largest state that is read, in bytes of JSON. */
const STATE_BYTES_MAX = 1024 * 1024 * 1024

const GZIP = [0x1f, 0x8b]

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === GZIP[0] && bytes[1] === GZIP[1]

/** A state file that cannot be used; the message says why. */
export class StateFileError extends Error {
  override name = 'StateFileError'
}

/** Where a chain's state comes from and goes to. */
export interface StateFiles {
  /** To be loaded at the start. */
  readonly load: string | undefined
  /** To be written at the end. */
  readonly dump: string | undefined
}

/** The files that the flags name; that of `--state` is loaded only where it is there. */
export function stateFiles(flags: ReadonlyMap<string, string>): StateFiles {
  const both = flags.get('state')
  const there = both !== undefined && fs.existsSync(both) ? both : undefined
  return { load: flags.get('load-state') ?? there, dump: flags.get('dump-state') ?? both }
}

/** Loads a file into a chain. */
export async function loadState(core: Core, file: string): Promise<void> {
  const bytes = fs.readFileSync(file)
  const packed = isGzip(bytes) ? bytes : zlib.gzipSync(bytes)
  try {
    await core.request('loadState', { state: `0x${packed.toString('hex')}` })
  } catch (e) {
    throw new StateFileError(`${file}: ${(e as Error).message}`)
  }
}

/** Writes the state of a chain to a file, which is whole or as it was before. */
export async function dumpState(core: Core, file: string): Promise<void> {
  const hex = await readJson(core, 'dumpState', undefined)
  const packed = Buffer.from(hex.slice(2), 'hex')
  const bytes = isGzip(packed) ? zlib.gunzipSync(packed, { maxOutputLength: STATE_BYTES_MAX }) : packed
  const draft = `${file}.${process.pid}`
  fs.writeFileSync(draft, bytes)
  fs.renameSync(draft, file)
}
