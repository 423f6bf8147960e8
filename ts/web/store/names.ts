// Names for this reader: what is built in, and what the reader gave. What is given stays in the
// browser.
import { computed, signal } from '@preact/signals'
import { BadSignature, Names, SIGNATURES_MAX, signaturesOfAbi } from '../../explore/index.ts'

const KEY = 'hearth-names'

/** Characters of labels and signatures that are kept in the browser. */
export const GIVEN_CHARACTERS_MAX = 1024 * 1024

/**
 * What the reader gave: labels as `ADDRESS NAME`, one a line, and signatures as Solidity writes
 * them, one a line.
 */
export interface Given {
  readonly labels: string
  readonly signatures: string
}

const PRECOMPILES: readonly [number, string][] = [
  [1, 'ecrecover'],
  [2, 'sha256'],
  [3, 'ripemd160'],
  [4, 'identity'],
  [5, 'modexp'],
  [6, 'bn254Add'],
  [7, 'bn254Mul'],
  [8, 'bn254Pairing'],
  [9, 'blake2f'],
  [10, 'pointEvaluation'],
]

const builtIn = new Map([
  ...PRECOMPILES.map(([n, name]): [string, string] => [`0x${n.toString(16).padStart(40, '0')}`, name]),
  ['0x000000000000000000636f6e736f6c652e6c6f67', 'console'] as const,
])

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim().replace(/;$/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'))

/** Names out of compiler artifacts: those of addresses, and signatures. */
export interface ArtifactNames {
  readonly labels: ReadonlyMap<string, string>
  readonly signatures: readonly string[]
}

export const artifactNames = signal<ArtifactNames>({ labels: new Map(), signatures: [] })

/** Names out of what was given; throws `BadSignature`, or an error that names the line. */
function namesOf({ labels, signatures }: Given): Names {
  const all = new Map([...builtIn, ...artifactNames.value.labels])
  for (const line of lines(labels)) {
    const found = /^(0x[0-9a-fA-F]{40})[\s:,]+(.{1,64})$/.exec(line)
    if (found === null) throw new BadSignature(`${JSON.stringify(line.slice(0, 80))} is no address with a name behind it`)
    all.set((found[1] as string).toLowerCase(), found[2] as string)
  }
  return new Names({ labels: all, signatures: lines(signatures).slice(0, SIGNATURES_MAX), artifacts: artifactNames.value.signatures })
}

function kept(): Given {
  try {
    const read = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Given>
    return { labels: String(read.labels ?? ''), signatures: String(read.signatures ?? '') }
  } catch {
    return { labels: '', signatures: '' }
  }
}

function start(): Names {
  try {
    return namesOf(given.value)
  } catch {
    return namesOf({ labels: '', signatures: '' })
  }
}

export const given = signal<Given>(kept())
export const names = computed<Names>(start)

/** Takes what the reader gives; throws where a line does not read. */
export function giveNames(next: Given): void {
  if (next.labels.length + next.signatures.length > GIVEN_CHARACTERS_MAX)
    throw new BadSignature(`at most ${GIVEN_CHARACTERS_MAX} characters are kept`)
  namesOf(next)
  given.value = next
  localStorage.setItem(KEY, JSON.stringify(next))
}

/** Signatures of a file: an ABI or an artifact as JSON, or signatures one a line. */
export const signaturesOfFile = (text: string): string[] => (/^\s*[[{]/.test(text) ? signaturesOfAbi(text) : lines(text))
