// Packs what is published: a package with the binary of each platform that was built, and the package itself, as tarballs in dist/npm.
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
  const file = `hearth.${name}.node`
  fs.copyFileSync(path.join(ROOT, 'native', file), path.join(OUT, name, file))
  run('npm', ['pack', '--silent', '--pack-destination', OUT], path.join(OUT, name))
}
// The package by itself has no binary: the one that fits comes as an optional part of it.
const bare = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-pack-'))
for (const entry of ['dist', 'native/index.js', 'native/index.d.ts', 'ts/metrics/dashboards', 'README.md', 'LICENSE']) {
  const skip = (from) => from !== OUT && !from.startsWith(`${OUT}${path.sep}`) && from !== path.join(ROOT, 'dist/examples')
  fs.cpSync(path.join(ROOT, entry), path.join(bare, entry), { recursive: true, filter: skip })
}
fs.writeFileSync(path.join(bare, 'package.json'), `${JSON.stringify(published(built), null, 2)}\n`)
run('npm', ['pack', '--silent', '--pack-destination', OUT], bare)
fs.rmSync(bare, { recursive: true })

console.log(
  `packed for ${built.join(', ') || 'no platform'}; without a binary: ${platforms.filter((name) => !built.includes(name)).join(', ') || 'none'}`,
)
for (const name of fs.readdirSync(OUT).filter((file) => file.endsWith('.tgz'))) console.log(path.join('dist/npm', name))
