// Types of what tests use of version.mjs.

/** The files that a release changes. */
export const RELEASE_FILES: readonly string[]

/** Below zero where version `a` comes before version `b`. */
export function compareVersions(a: string, b: string): number

/** A file's text with the new version in place of the old one, and how many places that were. */
export function withVersion(file: string, text: string, from: string, to: string): { readonly text: string; readonly places: number }

/** The entries under "Unreleased". */
export function unreleased(changelog: string): string

/** The changelog with the unreleased entries under a heading of the version and the day. */
export function cutChangelog(changelog: string, version: string, day: string): string

/** Refuses a version that does not come after the present one. */
export function checkVersion(version: string, present: string, changelog: string): void
