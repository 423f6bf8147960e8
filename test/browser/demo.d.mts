/** The transaction of the demo that fails in a nested call. */
export const FAILED: string
/** The swap of the demo: nested calls and events. */
export const SWAP: string
/** Pages by name: path, and a selector of what the page must show. */
export const PAGES: Readonly<Record<string, readonly [path: string, shows: string]>>
/**
 * A development node with the demo: its URL, its process, and how it stops, which resolves to its
 * exit code or the signal that ended it.
 */
export function demoNode(): Promise<{
  readonly url: string
  readonly pid: number
  readonly stop: () => Promise<number | string>
}>
