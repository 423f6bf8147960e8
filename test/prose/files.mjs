// The files that the check of prose reads, and the directories that findings in comments are
// counted by.
import { spawnSync } from 'node:child_process'

const SOURCES = new Set(['rs', 'ts', 'mjs', 'cjs', 'js'])

/** Directories whose subdirectories have counts of their own. */
const SPLIT = new Set(['crates', 'ts', 'test', 'native'])

/** Paths of the tracked files, below `root`. */
export function trackedFiles(root) {
  const listed = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr || listed.error}`)
  return listed.stdout.split('\n').filter((file) => file !== '')
}

export const isPage = (file) => file.endsWith('.md')
export const isSource = (file) => SOURCES.has(file.split('.').at(-1) ?? '') && file !== 'native/index.js'

/** Whether the texts of a source file may reach users: tests and benches print to their authors. */
export const hasUserTexts = (file) =>
  isSource(file) && !file.startsWith('test/') && !/(?:^|\/)(?:tests?|benches)(?:\/|\.rs$)|_tests?\.rs$|_faults\.rs$/.test(file)

/** Texts of dashboards and alerts. */
export const isDashboard = (file) => file.startsWith('ts/metrics/dashboards/') && !/_test\.yml$/.test(file)

/** The directory of a source file for counts: `crates/evm`, `ts/rpc`, `test/unit`. */
export function directoryOf(file) {
  const [first = '', second = '', ...rest] = file.split('/')
  return SPLIT.has(first) && rest.length > 0 ? `${first}/${second}` : first
}
