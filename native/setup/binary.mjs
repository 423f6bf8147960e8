// What a packed binary may need of its machine (the oldest C and C++ libraries), and its size.
import { spawnSync } from 'node:child_process'
import { SetupError } from './env.mjs'

/**
 * The newest symbol versions that a binary may need, by library. These are Debian 12's, Ubuntu
 * 22.04's and Fedora 36's: glibc 2.34 and the libstdc++ of GCC 12. A build on a newer system may
 * need more, and is refused.
 */
export const FLOORS = { GLIBC: '2.34', GLIBCXX: '3.4.30', CXXABI: '1.3.13', GCC: '4.2.0' }

/** Bytes of one platform's binaries after `strip`, together. */
export const BINARY_BYTES_MAX = 40 * 1024 * 1024

const numbers = (version) => version.split('.').map(Number)

/** Whether version `a` is newer than version `b`. */
export function isNewer(a, b) {
  const [left, right] = [numbers(a), numbers(b)]
  for (let i = 0; i < Math.max(left.length, right.length); i++)
    if ((left[i] ?? 0) !== (right[i] ?? 0)) return (left[i] ?? 0) > (right[i] ?? 0)
  return false
}

/**
 * The newest version of each library that a table of dynamic symbols (`objdump -T`) names: `{
 * GLIBC: '2.34', … }`.
 */
export function neededVersions(table) {
  const newest = {}
  for (const [, library, version] of table.matchAll(/\b(GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)*)\b/g))
    if (newest[library] === undefined || isNewer(version, newest[library])) newest[library] = version
  return newest
}

/**
 * What a binary needs beyond the floors, one sentence a library; empty where it runs on all the
 * systems that the floors name.
 */
export function aboveFloors(table, floors = FLOORS) {
  return Object.entries(neededVersions(table))
    .filter(([library, version]) => isNewer(version, floors[library]))
    .map(([library, version]) => `it needs ${library}_${version}, and ${library}_${floors[library]} is the newest that a package may need`)
}

/** The table of dynamic symbols of a shared library. */
export function dynamicSymbols(file) {
  const { status, stdout, error } = spawnSync('objdump', ['-T', file], { encoding: 'utf8', maxBuffer: 1 << 28 })
  if (status !== 0)
    throw new SetupError(
      `objdump -T ${file} failed${error === undefined ? '' : ` (${error.message})`}. Type: sudo apt-get install -y binutils, then run the command again.`,
    )
  return stdout
}

/**
 * Removes debug information from a shared library. Names of functions stay: a backtrace of the core
 * shows them.
 */
export function strip(file, tool = 'strip') {
  const { status, error } = spawnSync(tool, ['--strip-debug', file], { stdio: ['ignore', 2, 2] })
  if (status !== 0)
    throw new SetupError(
      `${tool} ${file} failed${error === undefined ? '' : ` (${error.message})`}. Type: sudo apt-get install -y binutils, then run the command again.`,
    )
}
