// Reads files of Foundry (out/ and build-info) and of Hardhat 2 and 3 (artifacts/ and build-info).
// What a file is, its members say; its name is nothing but a name.
import { signaturesOfEntries } from '../abi.ts'
import { countOf, entriesOf, memberOf, objectOf, textOf, within } from './json.ts'
import { readLayout } from './layout.ts'
import { BadArtifact, type Build, CODE_BYTES_MAX, type CodeArtifact, type Contract, type Range } from './types.ts'

/** A contract before it has its number and its build. */
export type Draft = Omit<Contract, 'id' | 'build'> & {
  /** Id of the build, where the file names it. */
  readonly buildId: string | undefined
  /** Number of the source in its build, where the file names it. */
  readonly sourceId: number | undefined
  /** Whether the file is the compiler's whole output, and not one contract of it. */
  readonly isWhole: boolean
}

/** What a file has. */
export interface Piece {
  readonly contracts: readonly Draft[]
  readonly builds: readonly Build[]
  /** Builds by `SOURCE:NAME`, as Foundry's cache file has them. */
  readonly buildOf: ReadonlyMap<string, readonly string[]>
}

const NOTHING: Piece = { contracts: [], builds: [], buildOf: new Map() }

/** Ranges of `immutableReferences` and `linkReferences`, which nest in one and two levels. */
function rangesOf(value: unknown, depth = 0): Range[] {
  if (Array.isArray(value)) {
    return value.flatMap((entry) => {
      const [start, length] = [countOf(memberOf(entry, 'start')), countOf(memberOf(entry, 'length'))]
      return start === undefined || length === undefined || length > CODE_BYTES_MAX ? [] : [{ start, length }]
    })
  }
  return depth > 2 ? [] : entriesOf(value).flatMap(([, entry]) => rangesOf(entry, depth + 1))
}

/** Hex digits of a code; undefined for an interface, which has none, and for what is no code. */
function hexOf(value: unknown): string | undefined {
  const text = textOf(value)?.replace(/^0x/, '')
  if (text === undefined || text.length === 0 || text.length % 2 !== 0 || text.length > 2 * CODE_BYTES_MAX) return undefined
  // A library that is not linked: `__$…$__`, 40 characters in place of its address.
  const linked = text.replace(/__.{36}__|_{2}[^_].{37}/g, '0'.repeat(40)).toLowerCase()
  return /^[0-9a-f]+$/.test(linked) ? linked : undefined
}

/** Places of libraries that are not linked. */
const unlinked = (value: unknown): Range[] =>
  [...(textOf(value)?.replace(/^0x/, '') ?? '').matchAll(/__.{36}__/g)].map(({ index }) => ({ start: index / 2, length: 20 }))

function codeOf(code: unknown, immutables: unknown = memberOf(code, 'immutableReferences')): CodeArtifact | undefined {
  const object = memberOf(code, 'object')
  const hex = hexOf(object)
  if (hex === undefined) return undefined
  const masks = [...rangesOf(immutables), ...rangesOf(memberOf(code, 'linkReferences')), ...unlinked(object)]
  return { hex, sourceMap: textOf(memberOf(code, 'sourceMap')), masks }
}

/** keccak256 of sources out of the metadata, an object or its text. */
function hashesOf(metadata: unknown): ReadonlyMap<string, string> {
  let parsed = metadata
  if (typeof metadata === 'string') {
    try {
      parsed = JSON.parse(metadata)
    } catch {
      return new Map()
    }
  }
  const rows = entriesOf(memberOf(parsed, 'sources')).map(([path, source]) => [path, textOf(memberOf(source, 'keccak256'))] as const)
  return new Map(rows.flatMap(([path, hash]) => (hash === undefined ? [] : [[path, hash.toLowerCase()]])))
}

/** An artifact of Foundry: `out/X.sol/X.json`. */
function foundryArtifact(file: string, json: unknown): Piece {
  const [name, source] = targetOf(file, json)
  const contract: Draft = {
    name,
    source,
    file,
    signatures: signaturesOfEntries(memberOf(json, 'abi')),
    runtime: codeOf(memberOf(json, 'deployedBytecode')),
    creation: codeOf(memberOf(json, 'bytecode')),
    layout: readLayout(memberOf(json, 'storageLayout')),
    hashes: hashesOf(memberOf(json, 'metadata') ?? memberOf(json, 'rawMetadata')),
    buildId: undefined,
    sourceId: countOf(memberOf(json, 'id')),
    isWhole: false,
  }
  return { ...NOTHING, contracts: [contract] }
}

/** Name and source of a Foundry artifact: the metadata's, else those of its path. */
function targetOf(file: string, json: unknown): [name: string, source: string] {
  const [target] = entriesOf(within(json, 'metadata', 'settings', 'compilationTarget'))
  const parts = file.split('/')
  const [source, name] = [parts.at(-2) ?? '', (parts.at(-1) ?? file).replace(/\.json$/, '')]
  return target === undefined ? [name, textOf(within(json, 'ast', 'absolutePath')) ?? source] : [textOf(target[1]) ?? name, target[0]]
}

/** An artifact of Hardhat without its build: names and code. */
function hardhatArtifact(file: string, json: unknown): Piece {
  const code = (name: string, links: string): CodeArtifact | undefined =>
    codeOf({
      object: memberOf(json, name),
      linkReferences: memberOf(json, links),
      immutableReferences: name === 'deployedBytecode' ? memberOf(json, 'immutableReferences') : undefined,
    })
  const contract: Draft = {
    name: textOf(memberOf(json, 'contractName')) ?? file,
    source: textOf(memberOf(json, 'inputSourceName')) ?? textOf(memberOf(json, 'sourceName')) ?? '',
    file,
    signatures: signaturesOfEntries(memberOf(json, 'abi')),
    runtime: code('deployedBytecode', 'deployedLinkReferences'),
    creation: code('bytecode', 'linkReferences'),
    layout: undefined,
    hashes: new Map(),
    buildId: textOf(memberOf(json, 'buildInfoId')),
    sourceId: undefined,
    isWhole: false,
  }
  return { ...NOTHING, contracts: [contract] }
}

/** Texts of the compiler's input. */
const textsOf = (input: unknown): ReadonlyMap<string, string> =>
  new Map(
    entriesOf(memberOf(input, 'sources')).flatMap(([path, source]) => {
      const content = textOf(memberOf(source, 'content'))
      return content === undefined ? [] : [[path, content] as const]
    }),
  )

/** The compiler's output: every contract of a build. */
function contractsOf(file: string, buildId: string, output: unknown): Draft[] {
  return entriesOf(memberOf(output, 'contracts')).flatMap(([source, contracts]) =>
    entriesOf(contracts).map(
      ([name, contract]): Draft => ({
        name,
        source,
        file,
        signatures: signaturesOfEntries(memberOf(contract, 'abi')),
        runtime: codeOf(within(contract, 'evm', 'deployedBytecode')),
        creation: codeOf(within(contract, 'evm', 'bytecode')),
        layout: readLayout(memberOf(contract, 'storageLayout')),
        hashes: hashesOf(memberOf(contract, 'metadata')),
        buildId,
        sourceId: countOf(within(output, 'sources', source, 'id')),
        isWhole: true,
      }),
    ),
  )
}

/** Paths by number: of Foundry's list, else of the output. */
function pathsOf(json: unknown, output: unknown): Map<number, string> {
  const listed = entriesOf(memberOf(json, 'source_id_to_path')).flatMap(([id, path]) => {
    const [n, text] = [countOf(id), textOf(path)]
    return n === undefined || text === undefined ? [] : [[n, text] as const]
  })
  if (listed.length > 0) return new Map(listed)
  return new Map(
    entriesOf(memberOf(output, 'sources')).flatMap(([path, source]) => {
      const n = countOf(memberOf(source, 'id'))
      return n === undefined ? [] : [[n, path] as const]
    }),
  )
}

/** A build-info of any of the three; Hardhat 3 has its output in a file beside it. */
function buildInfo(file: string, json: unknown): Piece {
  const id = textOf(memberOf(json, 'id'))
  if (id === undefined) throw new BadArtifact('the build-info has no id')
  const output = memberOf(json, 'output')
  const build: Build = { id, paths: pathsOf(json, output), texts: textsOf(memberOf(json, 'input')) }
  return { ...NOTHING, builds: [build], contracts: contractsOf(file, id, output) }
}

/** Foundry's cache file: which contract is of which build. */
function foundryCache(json: unknown): Piece {
  const buildOf = new Map<string, string[]>()
  for (const [source, entry] of entriesOf(memberOf(json, 'files'))) {
    for (const [name, versions] of entriesOf(memberOf(entry, 'artifacts'))) {
      const ids = entriesOf(versions).flatMap(([, profiles]) =>
        entriesOf(profiles).flatMap(([, profile]) => textOf(memberOf(profile, 'build_id')) ?? []),
      )
      buildOf.set(`${source}:${name}`, ids)
    }
  }
  return { ...NOTHING, buildOf }
}

/** Whether a name is of a file that is looked into. */
export const mayBeArtifact = (name: string): boolean => name.endsWith('.json') && !name.endsWith('.dbg.json')

/**
 * Reads a file; a file that is something else has nothing. Throws `BadArtifact` for a file that
 * begins as an artifact and is broken.
 */
export function readArtifact(file: string, text: string): Piece {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new BadArtifact('the file is no JSON')
  }
  if (objectOf(json) === undefined) return NOTHING
  const format = textOf(memberOf(json, '_format')) ?? ''
  if (/^(hh-sol-build-info|hh3-sol-build-info|ethers-rs-sol-build-info)/.test(format)) return buildInfo(file, json)
  if (memberOf(json, 'source_id_to_path') !== undefined) return buildInfo(file, json)
  if (/^hh3?-(sol-)?artifact/.test(format)) return hardhatArtifact(file, json)
  if (memberOf(json, 'files') !== undefined && memberOf(json, 'paths') !== undefined) return foundryCache(json)
  const isFoundry = Array.isArray(memberOf(json, 'abi')) && objectOf(memberOf(json, 'deployedBytecode')) !== undefined
  return isFoundry ? foundryArtifact(file, json) : NOTHING
}
