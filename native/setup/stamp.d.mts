/** Digest of files and folders (paths relative to the checkout) and of any further words. */
export function digest(sources: readonly string[], ...words: string[]): string
