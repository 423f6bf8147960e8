// The program of CometBFT: where it is, and which version.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ConsensusError } from './error.ts'

/** How to install CometBFT. */
export const INSTALL = 'go install github.com/cometbft/cometbft/cmd/cometbft@v0.40.0'

/**
 * How transactions reach other nodes: CometBFT's own mempool passes them on, or it requests them
 * from the application (from version 0.40 on).
 */
export type MempoolType = 'flood' | 'app'

/** A program of CometBFT. */
export interface Binary {
  readonly path: string
  /** As `0.38.26`. */
  readonly version: string
  readonly mempool: MempoolType
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}

/**
 * The path of the program; `setting` is `auto` or a path. Throws `ConsensusError`, which explains
 * how to install it.
 */
export function findBinary(setting: string, environment: NodeJS.ProcessEnv = process.env, userHome = os.homedir()): string {
  if (setting !== 'auto') {
    const file = path.resolve(setting)
    if (isProgram(file)) return file
    throw new ConsensusError(`${file} (consensus.cometbft_bin) is no program. cometbft is not installed there: ${INSTALL}`)
  }
  const folders = [
    ...(environment.PATH ?? '').split(path.delimiter).filter((dir) => path.isAbsolute(dir)),
    path.join(userHome, 'go', 'bin'),
  ]
  const found = folders.map((dir) => path.join(dir, 'cometbft')).find(isProgram)
  if (found === undefined) throw new ConsensusError(`cometbft is not installed: ${INSTALL}`)
  return found
}

/** Bytes that are read of a program at a time. */
const CHUNK_BYTES = 4 * 1024 * 1024

/** Longest program that is read, in bytes. */
const PROGRAM_BYTES_MAX = 1024 ** 3

/** A line of the build information that Go puts into a program. */
const MODULE = /(?:mod|dep)\tgithub\.com\/cometbft\/cometbft\tv(\d+\.\d+\.\d+[0-9A-Za-z.+-]*)/

/** Bytes that such a line has at most. */
const LINE_BYTES_MAX = 256

/**
 * The version of a program, from Go's build information; undefined if it has none. The version that
 * the program prints is not reliable: that of 0.40.0 prints 0.39.0.
 */
export function builtVersion(file: string): string | undefined {
  const descriptor = fs.openSync(file, 'r')
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES + LINE_BYTES_MAX)
    let kept = 0
    for (let at = 0; at < PROGRAM_BYTES_MAX; ) {
      const read = fs.readSync(descriptor, buffer, kept, CHUNK_BYTES, at)
      if (read === 0) return undefined
      at += read
      const part = buffer.subarray(0, kept + read)
      const found = versionIn(part)
      if (found !== undefined) return found
      kept = Math.min(LINE_BYTES_MAX, part.length)
      buffer.copyWithin(0, part.length - kept, part.length)
    }
    return undefined
  } finally {
    fs.closeSync(descriptor)
  }
}

const NEEDLE = Buffer.from('\tgithub.com/cometbft/cometbft\tv')

/** The version in some bytes; a line that is cut off at their end is found with the next ones. */
function versionIn(bytes: Buffer): string | undefined {
  for (let at = bytes.indexOf(NEEDLE); at >= 0; at = bytes.indexOf(NEEDLE, at + 1)) {
    const line = bytes.toString('latin1', Math.max(0, at - 3), at + LINE_BYTES_MAX)
    const found = MODULE.exec(line)
    if (found !== null && (found.index + found[0].length < line.length || bytes.length < LINE_BYTES_MAX)) return found[1]
  }
  return undefined
}

/** Oldest version that speaks ABCI 2.0 as this node does. */
const OLDEST_MINOR = 38

/** First version whose application-side mempool works over a socket. */
const APP_MEMPOOL_MINOR = 40

/** What a version means; throws `ConsensusError` where it is too old or unknown. */
export function mempoolOf(version: string): MempoolType {
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(version) ?? []
  if (major !== '0' || Number(minor) < OLDEST_MINOR)
    throw new ConsensusError(`CometBFT ${version} is not supported: versions 0.38 to 0.40 are. To install one: ${INSTALL}`)
  return Number(minor) >= APP_MEMPOOL_MINOR ? 'app' : 'flood'
}

/** The program that a setting names, with its version. Throws `ConsensusError`. */
export function openBinary(setting: string): Binary {
  const file = findBinary(setting)
  const version = builtVersion(file)
  if (version === undefined)
    throw new ConsensusError(`${file} holds no version of CometBFT: it was not built as a module of Go. To install one: ${INSTALL}`)
  return { path: file, version, mempool: mempoolOf(version) }
}
