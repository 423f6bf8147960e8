// Makes a release: bumps the version, cuts the changelog, builds from the lock files, packs,
// checks, and says what is left to do by hand.
//
//   npm run release -- VERSION [--dry-run]
//
// A dry run changes and builds nothing: it prints each change and each command. docs/releasing.md
// has the whole procedure.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { output, ROOT, SetupError } from '../env.mjs'
import { releaseEnv } from './environment.mjs'
import { checkVersion, cutChangelog, RELEASE_FILES, unreleased, withVersion } from './version.mjs'

const USAGE = 'npm run release -- VERSION [--dry-run]'
const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8')

/**
 * What each file becomes: `{ file, text, what }`. Throws where one is not as it has to be; nothing
 * is written.
 */
function changes(version, day) {
  const { version: present } = JSON.parse(read('package.json'))
  const changelog = read('CHANGELOG.md')
  checkVersion(version, present, changelog)
  return RELEASE_FILES.map((file) => {
    if (file === 'CHANGELOG.md') {
      const entries = unreleased(changelog).match(/^- /gm)?.length ?? 0
      return { file, text: cutChangelog(changelog, version, day), what: `${entries} entries under "${version} - ${day}"` }
    }
    const { text, places } = withVersion(file, read(file), present, version)
    return { file, text, what: `${present} becomes ${version} in ${places} ${places === 1 ? 'place' : 'places'}` }
  })
}

/**
 * What builds and packs, in order. The core is built again where the version or the flags differ
 * from the last build's.
 */
const COMMANDS = [
  [process.execPath, 'native/setup/build.mjs'],
  [process.execPath, 'native/setup/build.mjs', 'sandboxes'],
  [process.execPath, 'native/setup/pack.mjs'],
]

const shown = ([, ...args]) => `HEARTH_PROFILE=release node ${args.join(' ')}`

/** @param {readonly string[]} command */
function run([command = '', ...args]) {
  const { status } = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 2, 2], env: { ...process.env, ...releaseEnv() } })
  if (status !== 0) throw new SetupError(`${shown([command, ...args])} failed; what went wrong stands above.`)
}

const checksums = () => read('dist/npm/SHA256SUMS')

/**
 * Refuses a build whose products do not fit the sources: the loader must be what was committed, and
 * a second packing must be the same.
 */
function check(version, texts) {
  const loader = texts.find(({ file }) => file === 'native/index.js').text
  if (read('native/index.js') !== loader) throw new SetupError('the build wrote another native/index.js than the release expects: git diff shows it.')
  const first = checksums()
  run(COMMANDS.at(-1) ?? [])
  if (checksums() !== first) throw new SetupError(`two packings of one build differ:\n${first}\n${checksums()}`)
  if (!first.includes(`  hearth-${version}.tgz\n`)) throw new SetupError(`dist/npm has no hearth-${version}.tgz`)
}

const afterwards = (version) => `What is left, once the tarballs were tried (docs/releasing.md):
  git commit -a -m 'Release ${version}' && git tag -a v${version} -m 'Hearth ${version}'
  git push origin main v${version}
  for tarball in dist/npm/hearth-core-*-${version}.tgz dist/npm/hearth-${version}.tgz; do npm publish "$tarball"; done
  publish dist/npm/SHA256SUMS and dist/npm/hearth.cdx.json with the notes of the release`

function main() {
  const { values, positionals } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } }, allowPositionals: true })
  const [version, ...more] = positionals
  if (version === undefined || more.length > 0) throw new SetupError(`a release needs one version: ${USAGE}`)
  const day = new Date().toISOString().slice(0, 10)
  const texts = changes(version, day)
  const uncommitted = output('git', ['status', '--porcelain'], { cwd: ROOT })
  const dirty = uncommitted === undefined || uncommitted !== ''
  if (values['dry-run']) {
    for (const { file, what } of texts) console.log(`${file}: ${what}`)
    for (const command of COMMANDS) console.log(`run: ${shown(command)}`)
    console.log('check: a second packing has the same checksums, and the loader of the core is the committed one')
    if (dirty) console.log('A release would be refused: the checkout has changes that are not committed.')
    console.log(afterwards(version))
    return
  }
  if (dirty) throw new SetupError('the checkout has changes that are not committed (git status): a release is made of what is committed.')
  for (const { file, text } of texts) fs.writeFileSync(path.join(ROOT, file), text)
  try {
    for (const command of COMMANDS) run(command)
    check(version, texts)
  } catch (e) {
    console.error(`The version and the changelog are changed already. To undo that: git checkout -- ${RELEASE_FILES.join(' ')}`)
    throw e
  }
  console.log(checksums())
  console.log(afterwards(version))
}

try {
  main()
} catch (e) {
  if (!(e instanceof SetupError) && e.code?.startsWith('ERR_PARSE_ARGS') !== true) throw e
  console.error(`hearth release: ${e.message}`)
  process.exit(1)
}
