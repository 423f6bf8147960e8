/**
 * Runs `make` unless `file` exists, in one process at a time; `make` publishes its result by a
 * rename.
 */
export function once(file: string, what: string, make: () => Promise<void>): Promise<void>
