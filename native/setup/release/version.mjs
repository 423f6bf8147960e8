// The texts that a release changes: the version in every file that has it, and the changelog, whose
// unreleased entries get a heading.
import { SetupError } from '../env.mjs'

/** Versions as npm and cargo read them: three numbers, and for a pre-release a dash and words. */
const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/

function parsed(version) {
  const found = SEMVER.exec(version)
  if (found === null) throw new SetupError(`${version} is no version: it is three numbers as 1.2.3, or 1.2.3-rc.1 before a release.`)
  return { numbers: found.slice(1, 4).map(Number), pre: found[4]?.split('.') }
}

function comparePre(a, b) {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const [left, right] = [a[i], b[i]]
    if (left === right) continue
    if (left === undefined || right === undefined) return left === undefined ? -1 : 1
    const [isNumber, isOther] = [/^\d+$/.test(left), /^\d+$/.test(right)]
    if (isNumber !== isOther) return isNumber ? -1 : 1
    return isNumber ? Number(left) - Number(right) : left < right ? -1 : 1
  }
  return 0
}

/**
 * Below zero where version `a` comes before version `b`, by section 11 of Semantic Versioning
 * 2.0.0.
 */
export function compareVersions(a, b) {
  const [left, right] = [parsed(a), parsed(b)]
  const at = left.numbers.findIndex((number, i) => number !== right.numbers[i])
  return at >= 0 ? left.numbers[at] - right.numbers[at] : comparePre(left.pre, right.pre)
}

const escaped = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/**
 * Where the version stands, by file: what surrounds it, as a pattern of which the first group is
 * kept, and how often that is there at least. Each is one place that tools or readers compare with
 * the others.
 */
const PLACES = {
  'package.json': { around: (v) => `(^  "version": ")${v}(?=",$)`, least: 1 },
  'package-lock.json': { around: (v) => `(^ {2}(?:    )?"version": ")${v}(?=",$)`, least: 2 },
  'Cargo.toml': { around: (v) => `(^\\[workspace\\.package\\]\\nversion = ")${v}(?="$)`, least: 1 },
  // Crates of the workspace have no source.
  'Cargo.lock': { around: (v) => `(^name = "hearth-[a-z-]+"\\nversion = ")${v}(?="\\n(?!source))`, least: 10 },
  // The loader that napi writes compares the version of the package with the binary.
  'native/index.js': { around: (v) => `((?:!== '|expected ))${v}(?=['  ])`, least: 10 },
  'README.md': { around: (v) => `(hearth(?:-core-linux-x64-gnu)?-)${v}(?=\\.tgz)`, least: 2 },
  'docs/library.md': { around: (v) => `(hearth(?:-core-linux-x64-gnu)?-)${v}(?=\\.tgz)`, least: 2 },
}

/** The files that a release changes. */
export const RELEASE_FILES = [...Object.keys(PLACES), 'CHANGELOG.md']

/** A file's text with the new version in place of the old one, and how many places that were. */
export function withVersion(file, text, from, to) {
  const { around, least } = PLACES[file]
  let places = 0
  const changed = text.replaceAll(new RegExp(around(escaped(from)), 'gm'), (_, before) => {
    places++
    return `${before}${to}`
  })
  if (places < least)
    throw new SetupError(`${file} has the version ${from} in ${places} places, and ${least} or more were expected. Did another release stop half way? git status shows it.`)
  return { text: changed, places }
}

const UNRELEASED = '## Unreleased\n'

/** The entries under "Unreleased", as they are published with the release. */
export function unreleased(changelog) {
  const at = changelog.indexOf(UNRELEASED)
  if (at < 0) throw new SetupError('CHANGELOG.md has no heading "## Unreleased".')
  const rest = changelog.slice(at + UNRELEASED.length)
  const end = rest.search(/^## /m)
  return (end < 0 ? rest : rest.slice(0, end)).trim()
}

/**
 * The changelog with the unreleased entries under a heading of the version and the day, and an
 * empty "Unreleased" above.
 */
export function cutChangelog(changelog, version, day) {
  if (changelog.includes(`\n## ${version} `)) throw new SetupError(`CHANGELOG.md has a heading for ${version} already.`)
  if (unreleased(changelog) === '') throw new SetupError('CHANGELOG.md has nothing under "Unreleased": there is nothing to release.')
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n## ${version} - ${day}\n`)
}

/**
 * Refuses a version that does not come after the present one; the present one itself may be
 * released once.
 */
export function checkVersion(version, present, changelog) {
  const order = compareVersions(version, present)
  if (order < 0) throw new SetupError(`${version} comes before ${present}, which package.json has.`)
  if (order === 0 && changelog.includes(`\n## ${present} `)) throw new SetupError(`${present} was released already: CHANGELOG.md has it.`)
}
