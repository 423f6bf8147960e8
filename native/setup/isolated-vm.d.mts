// Types of what tests use of isolated-vm.mjs.

/**
 * By major version of Node: the version of isolated-vm that fits it, its ABI, and the release that
 * packing builds it with.
 */
export const ENGINES: Readonly<Record<string, { readonly version: string; readonly abi: number; readonly node: string }>>

/**
 * The folder of a release of Node out of npm, fetched into the cache where it is not there; throws
 * where it cannot be had.
 */
export function nodeRelease(version: string): Promise<string>
