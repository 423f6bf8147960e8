// What is kept of compiler artifacts: names, signatures, code, source maps and storage layouts.

/** Bytes within a code, counted from its beginning. */
export interface Range {
  readonly start: number
  readonly length: number
}

/** A code as the compiler made it. */
export interface CodeArtifact {
  /** Hex digits in lower case without a prefix; places of libraries are zeros. */
  readonly hex: string
  /** The compressed source map; undefined where the artifact has none. */
  readonly sourceMap: string | undefined
  /** What differs on chain: immutables and addresses of libraries. */
  readonly masks: readonly Range[]
}

/** A variable of a storage layout (Solidity documentation, "JSON Output" of the storage layout). */
export interface LayoutEntry {
  readonly label: string
  /** Bytes from the lower end of the slot. */
  readonly offset: number
  readonly slot: bigint
  readonly type: string
}

/** A type of a storage layout. */
export interface LayoutType {
  readonly encoding: string
  readonly label: string
  readonly bytes: number
  readonly key: string | undefined
  readonly value: string | undefined
  readonly base: string | undefined
  readonly members: readonly LayoutEntry[]
}

/** Where the compiler puts the variables of a contract. */
export interface Layout {
  readonly storage: readonly LayoutEntry[]
  readonly types: ReadonlyMap<string, LayoutType>
}

/** The sources of one run of the compiler. */
export interface Build {
  readonly id: string
  /** Paths by the numbers that source maps have. */
  readonly paths: ReadonlyMap<number, string>
  /** Texts by path, where the build has them. */
  readonly texts: ReadonlyMap<string, string>
}

/** A contract of an artifact. */
export interface Contract {
  /** Number in its index. */
  readonly id: number
  readonly name: string
  /** Path of its source as the compiler was given it. */
  readonly source: string
  /** The file that it was read from. */
  readonly file: string
  /** Functions, errors and events as Solidity writes them. */
  readonly signatures: readonly string[]
  readonly runtime: CodeArtifact | undefined
  readonly creation: CodeArtifact | undefined
  readonly layout: Layout | undefined
  readonly build: Build | undefined
  /** keccak256 of the sources by path, as the compiler's metadata has them. */
  readonly hashes: ReadonlyMap<string, string>
}

/** A file that is no artifact, or a broken one; the message says what is wrong with it. */
export class BadArtifact extends Error {
  override name = 'BadArtifact'
}

/** Bytes of a file that is read. */
export const FILE_BYTES_MAX = 256 * 1024 * 1024

/** Files that are read of all folders together. */
export const FILES_MAX = 20_000

/** Bytes that are read of all folders together. */
export const READ_BYTES_MAX = 1024 * 1024 * 1024

/** Characters that are kept of all artifacts together: code, maps, signatures, layouts, sources. */
export const KEPT_CHARACTERS_MAX = 256 * 1024 * 1024

/**
 * Bytes of a code that is compared: an init code has at most 49,152 (EIP-3860), with room for
 * chains that allow more.
 */
export const CODE_BYTES_MAX = 1024 * 1024
