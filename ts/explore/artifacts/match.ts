// Which contract a code on chain is: compared byte by byte, never by name or address. Immutables
// and libraries are masked; code that is equal but for the compiler's metadata is marked as such.
import type { CodeArtifact, Contract, Range } from './types.ts'

/** How alike a code and an artifact are. */
export type Likeness = 'exact' | 'metadata differs'

/** A contract that has a code. */
export interface Match {
  readonly contract: Contract
  readonly how: Likeness
}

/** A code with what may differ on chain taken out of it. */
interface Prepared {
  readonly contract: Contract
  readonly code: CodeArtifact
}

/** Contracts of one code that are named; there may be more copies. */
const MATCHES_MAX = 16

/**
 * The marks of the compiler's metadata in CBOR: `ipfs`, `bzzr0`, `bzzr1` with a hash, and `solc`
 * with its version.
 */
const METADATA = /(?:64697066735822[0-9a-f]{68}|65627a7a72[0-9a-f]{2}5820[0-9a-f]{64}|64736f6c6343[0-9a-f]{6})/g

/**
 * A library begins by pushing its own address, which the compiler does not know (Solidity
 * documentation, "Call Protection For Libraries").
 */
const LIBRARY = /^73(0{40})3014/
const LIBRARY_ADDRESS: Range = { start: 1, length: 20 }

/** Hex digits in which creation codes are compared first: no library or immutable lies so early. */
const BEGINNING = 16

/** Sets ranges of a code to zero. */
function masked(hex: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return hex
  const sorted = [...ranges].sort((a, b) => a.start - b.start)
  const parts: string[] = []
  let at = 0
  for (const { start, length } of sorted) {
    const [from, to] = [Math.min(hex.length, 2 * start), Math.min(hex.length, 2 * (start + length))]
    if (to <= at) continue
    parts.push(hex.slice(at, Math.max(at, from)), '0'.repeat(to - Math.max(at, from)))
    at = to
  }
  return parts.join('') + hex.slice(at)
}

const masksOf = ({ hex, masks }: CodeArtifact): readonly Range[] => (LIBRARY.test(hex) ? [...masks, LIBRARY_ADDRESS] : masks)

const withoutMetadata = (hex: string): string => hex.replace(METADATA, (found) => '0'.repeat(found.length))

/** Compares codes with artifacts. */
export class Matcher {
  /** Artifacts by the number of hex digits of their runtime code. */
  private readonly runtimes = new Map<number, Prepared[]>()
  private readonly creations: Prepared[] = []

  constructor(contracts: Iterable<Contract>) {
    for (const contract of contracts) {
      const { runtime, creation } = contract
      if (runtime !== undefined) {
        const length = runtime.hex.length
        this.runtimes.set(length, [...(this.runtimes.get(length) ?? []), { contract, code: runtime }])
      }
      if (creation !== undefined) this.creations.push({ contract, code: creation })
    }
  }

  /**
   * Contracts whose code is that of an account, `0x…`; those that are exact alone where there are
   * any.
   */
  runtime(code: string): Match[] {
    const hex = code.slice(2).toLowerCase()
    if (hex === '') return []
    return best((this.runtimes.get(hex.length) ?? []).flatMap((one) => likeness(one, hex) ?? []))
  }

  /** Contracts whose creation code a data begins with; constructor arguments stand behind it. */
  creation(data: string): Match[] {
    const hex = data.slice(2).toLowerCase()
    const fitting = this.creations.filter(({ code }) => code.hex.length <= hex.length && hex.startsWith(code.hex.slice(0, BEGINNING)))
    const found = best(fitting.flatMap((one) => likeness(one, hex.slice(0, one.code.hex.length)) ?? []))
    // A shorter code may be the beginning of a longer one: the longest is meant.
    const longest = Math.max(0, ...found.map(({ contract }) => contract.creation?.hex.length ?? 0))
    return found.filter(({ contract }) => contract.creation?.hex.length === longest)
  }
}

function likeness({ contract, code }: Prepared, hex: string): Match | undefined {
  const masks = masksOf(code)
  const [ours, theirs] = [masked(code.hex, masks), masked(hex, masks)]
  if (ours === theirs) return { contract, how: 'exact' }
  return withoutMetadata(ours) === withoutMetadata(theirs) ? { contract, how: 'metadata differs' } : undefined
}

function best(found: readonly Match[]): Match[] {
  const exact = found.filter(({ how }) => how === 'exact')
  return (exact.length > 0 ? exact : found).slice(0, MATCHES_MAX)
}
