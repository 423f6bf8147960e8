// Packs what is published, as tarballs: `hearth-core-PLATFORM` with the binaries of each platform
// that was built, and `hearth`, whose optional dependencies they are. Beside them lie the bill of
// materials and SHA256SUMS.
//
//   node native/setup/pack.mjs [FOLDER]      FOLDER is dist/npm unless it is given
//
// `node native/setup/build.mjs linux-arm64-gnu` builds the binaries for arm64 on an x64 machine;
// those built elsewhere are put beside this one's in native/ first.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { aboveFloors, BINARY_BYTES_MAX, dynamicSymbols, strip } from './binary.mjs'
import { librariesOf, MACHINES } from './cross.mjs'
import { ROOT, SetupError } from './env.mjs'
import { ENGINES, nodeRelease } from './isolated-vm.mjs'

const OUT = path.resolve(process.argv[2] ?? path.join(ROOT, 'dist/npm'))
const HERE = `${process.platform}-${process.arch}-gnu`

/**
 * What the package has besides its manifest; the manifest's own `files` leave out what of it is not
 * published.
 */
const ENTRIES = [
  'dist',
  'native/index.js',
  'native/index.d.ts',
  'ts/metrics/dashboards',
  'docs',
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'LICENSE',
]

/**
 * Platforms as napi names them, by the target of Rust in package.json: what is published, and where
 * it installs.
 */
const PLATFORMS = {
  'x86_64-unknown-linux-gnu': { name: 'linux-x64-gnu', os: 'linux', cpu: 'x64', libc: 'glibc' },
  'aarch64-unknown-linux-gnu': { name: 'linux-arm64-gnu', os: 'linux', cpu: 'arm64', libc: 'glibc' },
}

/** Products of tests and of earlier packings, which are not packed. */
const LEFT_OUT = ['dist/npm', 'dist/examples']

/** The core's library of a platform, as napi names it. */
const binaryOf = (name) => `${manifestOf(ROOT).napi.binaryName}.${name}.node`

/** Folder of the libraries of isolated-vm for a platform. */
const libraryFolder = (name) => (name === HERE || MACHINES[name] === undefined ? path.join(ROOT, 'native') : librariesOf(MACHINES[name]))

/**
 * The libraries of isolated-vm that go with the binary of a platform; none where none were built.
 */
function librariesFor(name) {
  const folder = libraryFolder(name)
  if (!fs.existsSync(folder) || (name !== HERE && MACHINES[name] === undefined)) return []
  return fs.readdirSync(folder).filter((file) => /^isolated-vm-\d+\.node$/.test(file))
}

function run(command, args, cwd = ROOT) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new SetupError(`${command} ${args.join(' ')} failed${error === undefined ? '' : `: ${error.message}`}`)
}

/** Runs `npm pack` in a folder. */
const npmPack = (dir) => run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', OUT], dir)

const manifestOf = (dir) => JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8'))

const writeManifest = (dir, manifest) => fs.writeFileSync(path.join(dir, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)

/**
 * The manifest of the package, without what only a checkout needs, and with the platforms that are
 * packed as its optional parts.
 */
function published(platforms) {
  const { private: _, scripts: __, devDependencies: ___, ...kept } = manifestOf(ROOT)
  const core = kept.napi.packageName
  // npm refuses the package on other systems with these words; the loader of the core names the
  // systems too.
  const systems = Object.values(PLATFORMS)
  const all = (field) => [...new Set(systems.map((system) => system[field]))]
  return {
    ...kept,
    os: all('os'),
    cpu: all('cpu'),
    libc: all('libc'),
    optionalDependencies: Object.fromEntries(platforms.map(({ name }) => [`${core}-${name}`, kept.version])),
  }
}

/** The manifest of the binaries of a platform, as napi writes it. */
function manifestFor({ name, os, cpu, libc }, files) {
  const { napi, version, description, license, engines } = manifestOf(ROOT)
  return {
    name: `${napi.packageName}-${name}`,
    version,
    description: `${description}: the binaries for ${name}`,
    license,
    main: `${napi.binaryName}.${name}.node`,
    files,
    engines,
    os: [os],
    cpu: [cpu],
    libc: [libc],
  }
}

/**
 * Packs the binaries of one platform; refuses what would not run on the systems that the package
 * names.
 */
function packPlatform(platform) {
  const { name } = platform
  const dir = path.join(OUT, name)
  fs.mkdirSync(dir)
  const files = [binaryOf(name), ...librariesFor(name)]
  let bytes = 0
  for (const file of files) {
    const copy = path.join(dir, file)
    fs.copyFileSync(path.join(file === binaryOf(name) ? path.join(ROOT, 'native') : libraryFolder(name), file), copy)
    strip(copy, MACHINES[name] && name !== HERE ? `${MACHINES[name].tools}-strip` : 'strip')
    const refused = aboveFloors(dynamicSymbols(copy))
    if (refused.length > 0) throw new SetupError(`${file} is not packed: ${refused.join('; ')}. Build it on an older system.`)
    bytes += fs.statSync(copy).size
  }
  const over = `the binaries for ${name} take ${bytes} bytes after strip, and a release may have ${BINARY_BYTES_MAX} (native/setup/binary.mjs)`
  if (bytes > BINARY_BYTES_MAX && process.env.HEARTH_PROFILE === 'release') throw new SetupError(over)
  if (bytes > BINARY_BYTES_MAX) console.error(`hearth pack: ${over}`)
  fs.copyFileSync(path.join(ROOT, 'LICENSE'), path.join(dir, 'LICENSE'))
  writeManifest(dir, manifestFor(platform, files))
  npmPack(dir)
}

/**
 * Packs the package itself, which has no binary: the one that fits comes as an optional part of it.
 */
function packProgram(platforms) {
  const bare = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-pack-'))
  try {
    const skipped = LEFT_OUT.map((entry) => path.join(ROOT, entry))
    const filter = (from) => !skipped.some((skip) => from === skip || from.startsWith(`${skip}${path.sep}`))
    for (const entry of ENTRIES) fs.cpSync(path.join(ROOT, entry), path.join(bare, entry), { recursive: true, filter })
    writeManifest(bare, published(platforms))
    npmPack(bare)
  } finally {
    fs.rmSync(bare, { recursive: true })
  }
}

/**
 * Writes the digests of everything that is published, in the form that `sha256sum --check` reads.
 */
function writeChecksums() {
  const files = fs.readdirSync(OUT).filter((file) => file.endsWith('.tgz') || file.endsWith('.cdx.json'))
  const line = (file) =>
    `${createHash('sha256')
      .update(fs.readFileSync(path.join(OUT, file)))
      .digest('hex')}  ${file}\n`
  fs.writeFileSync(path.join(OUT, 'SHA256SUMS'), files.sort().map(line).join(''))
  return [...files, 'SHA256SUMS']
}

/**
 * Fills V8's code caches of the program for the releases of Node that the package is for: one of
 * another release is not used.
 */
async function codeCaches() {
  for (const { abi, node } of Object.values(ENGINES)) {
    const cache = path.join(ROOT, `dist/cli/program-${abi}.cache`)
    if (fs.existsSync(cache)) continue
    try {
      run(path.join(await nodeRelease(node), 'bin/node'), [path.join(ROOT, 'dist/cli/write-bundle.js'), 'warm'])
    } catch (e) {
      console.error(`hearth pack: no code cache for Node ${node}, under which the program starts later: ${e.message}`)
    }
  }
}

try {
  fs.rmSync(OUT, { recursive: true, force: true })
  fs.mkdirSync(OUT, { recursive: true })
  const platforms = manifestOf(ROOT).napi.targets.map((target) => PLATFORMS[target])
  const built = platforms.filter(({ name }) => fs.existsSync(path.join(ROOT, 'native', binaryOf(name))))
  if (built.length === 0) throw new SetupError('no binary is there to pack. Type: npm run build, then run the command again.')
  await codeCaches()
  for (const platform of built) packPlatform(platform)
  packProgram(built)
  run(process.execPath, [path.join(ROOT, 'native/setup/sbom/run.mjs'), path.join(OUT, 'hearth.cdx.json')])
  const without = platforms.filter((platform) => !built.includes(platform))
  const list = (some) => some.map(({ name }) => name).join(', ') || 'none'
  console.log(`packed for ${list(built)}; without a binary: ${list(without)}`)
  for (const file of writeChecksums()) console.log(path.relative(ROOT, path.join(OUT, file)))
} catch (e) {
  if (!(e instanceof SetupError)) throw e
  console.error(`hearth pack: ${e.message}`)
  process.exit(1)
}
