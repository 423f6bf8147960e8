// Names out of the files that a command line gives.
import fs from 'node:fs'
import { BadSignature, Names, SIGNATURES_MAX } from '../../explore/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { TracedContracts } from './artifacts.ts'

export function readFile(flag: string, file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (e) {
    throw new UsageError(`--${flag}: ${(e as Error).message}`)
  }
}

/** Labels: a JSON object of names by address. */
function labelsOf(file: string | undefined): ReadonlyMap<string, string> {
  if (file === undefined) return new Map()
  const wrong = new UsageError(`--labels ${file} must hold a JSON object such as {"0x6b17..1d0f": "DAI"}, with whole addresses`)
  let parsed: unknown
  try {
    parsed = JSON.parse(readFile('labels', file))
  } catch (e) {
    throw e instanceof UsageError ? e : wrong
  }
  const entries = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? Object.entries(parsed) : undefined
  if (entries?.every(([address, name]) => /^0x[0-9a-fA-F]{40}$/.test(address) && typeof name === 'string') !== true) throw wrong
  return new Map(entries.map(([address, name]) => [address.toLowerCase(), name as string]))
}

/** Signatures, one a line; empty lines and those that begin with # are passed. */
function signaturesOf(file: string | undefined): string[] {
  if (file === undefined) return []
  const lines = readFile('signatures', file)
    .split('\n')
    .map((line) => line.trim().replace(/;$/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'))
  if (lines.length > SIGNATURES_MAX)
    throw new UsageError(`--signatures ${file} has ${lines.length} signatures, at most ${SIGNATURES_MAX} are taken`)
  return lines
}

/** The names of a command line; those of `contracts` as well. */
export function namesOf({ flags }: Parsed, contracts?: TracedContracts): Names {
  const sig = flags.get('sig')
  try {
    return new Names({
      labels: new Map([...(contracts?.labels ?? []), ...labelsOf(flags.get('labels'))]),
      artifacts: contracts?.signatures ?? [],
      signatures: [...(sig === undefined ? [] : [sig]), ...signaturesOf(flags.get('signatures'))],
      whole: flags.get('raw') === 'true',
    })
  } catch (e) {
    throw e instanceof BadSignature ? new UsageError(`--signatures: ${e.message}`) : e
  }
}
