/** Whether the cache has an entry for these sources, whole or not. */
export function hasCore(profile: string, sources: string): boolean
/**
 * Puts the stored core of these sources into the folder; false where there is none. A damaged one is
 * removed.
 */
export function takeCore(profile: string, sources: string, into?: string): boolean
/** Stores the core in the folder under the digest of its sources. */
export function keepCore(profile: string, sources: string, from?: string): void
