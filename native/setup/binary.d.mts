// Types of what tests use of binary.mjs.

/** The newest symbol versions that a packed binary may need, by library. */
export const FLOORS: Readonly<Record<'GLIBC' | 'GLIBCXX' | 'CXXABI' | 'GCC', string>>

/** Bytes of one platform's binaries after `strip`, together. */
export const BINARY_BYTES_MAX: number

/** The newest version of each library that a table of dynamic symbols names. */
export function neededVersions(table: string): Readonly<Record<string, string>>

/** What a binary needs beyond the floors, one sentence a library. */
export function aboveFloors(table: string, floors?: Readonly<Record<string, string>>): readonly string[]

/** The table of dynamic symbols of a shared library. */
export function dynamicSymbols(file: string): string
