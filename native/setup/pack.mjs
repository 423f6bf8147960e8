// Packs what is published: a package with the binary of each platform that was built, and the package itself, as tarballs in dist/npm, and
// the bill of materials of both.
//
//   node native/setup/pack.mjs
//
// A binary of another platform is built there (`npm run build`) and put beside this one's in native/ first.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ROOT } from './env.mjs'

const OUT = path.join(ROOT, 'dist/npm')
const NAPI = path.join(ROOT, 'node_modules/@napi-rs/cli/dist/cli.js')

/** What the package has besides its manifest; the manifest's own `files` leave out what of it is not published. */
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

/** The libraries of isolated-vm that go with the binary of a platform: those of this machine, with its own. */
const librariesFor = (name) =>
  name === `${process.platform}-${process.arch}-gnu`
    ? fs.readdirSync(path.join(ROOT, 'native')).filter((file) => /^isolated-vm-\d+\.node$/.test(file))
    : []

function run(command, args, cwd = ROOT) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] })
  if (status === 0) return
  console.error(`hearth pack: ${command} ${args.join(' ')} failed${error === undefined ? '' : `: ${error.message}`}`)
  process.exit(1)
}

/** The manifest of the package, without what only a checkout needs, and with the platforms that are packed as its optional parts. */
function published(platforms) {
  const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
  const { private: _, scripts: __, devDependencies: ___, ...kept } = manifest
  return { ...kept, optionalDependencies: Object.fromEntries(platforms.map((name) => [`${manifest.name}-${name}`, manifest.version])) }
}

fs.rmSync(OUT, { recursive: true, force: true })
run(process.execPath, [NAPI, 'create-npm-dirs', '--npm-dir', OUT])
const platforms = fs.readdirSync(OUT)
const built = platforms.filter((name) => fs.existsSync(path.join(ROOT, 'native', `hearth.${name}.node`)))
for (const name of built) {
  const dir = path.join(OUT, name)
  const files = [`hearth.${name}.node`, ...librariesFor(name)]
  for (const file of files) fs.copyFileSync(path.join(ROOT, 'native', file), path.join(dir, file))
  const manifest = path.join(dir, 'package.json')
  fs.writeFileSync(manifest, `${JSON.stringify({ ...JSON.parse(fs.readFileSync(manifest, 'utf8')), files }, null, 2)}\n`)
  run('npm', ['pack', '--silent', '--pack-destination', OUT], dir)
}
// The package by itself has no binary: the one that fits comes as an optional part of it.
const bare = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-pack-'))
for (const entry of ENTRIES) {
  const skip = (from) => from !== OUT && !from.startsWith(`${OUT}${path.sep}`) && from !== path.join(ROOT, 'dist/examples')
  fs.cpSync(path.join(ROOT, entry), path.join(bare, entry), { recursive: true, filter: skip })
}
fs.writeFileSync(path.join(bare, 'package.json'), `${JSON.stringify(published(built), null, 2)}\n`)
run('npm', ['pack', '--silent', '--pack-destination', OUT], bare)
run(process.execPath, [path.join(ROOT, 'native/setup/sbom/run.mjs'), path.join(OUT, 'hearth.cdx.json')])
fs.rmSync(bare, { recursive: true })

console.log(
  `packed for ${built.join(', ') || 'no platform'}; without a binary: ${platforms.filter((name) => !built.includes(name)).join(', ') || 'none'}`,
)
for (const name of fs.readdirSync(OUT).filter((file) => file.endsWith('.tgz') || file.endsWith('.cdx.json')))
  console.log(path.join('dist/npm', name))
