/** The transaction of the demo that fails in a nested call. */
export const FAILED: string
/** The swap of the demo: nested calls and events. */
export const SWAP: string
/** Pages by name: path, and a selector of what the page must show. */
export const PAGES: Readonly<Record<string, readonly [path: string, shows: string]>>
/** A development node with the demo: its URL, and how it stops. */
export function demoNode(): Promise<{ readonly url: string; readonly stop: () => void }>
