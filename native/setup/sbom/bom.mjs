// The software bill of materials of a release: every crate that is linked into the native core,
// every npm package that is installed with the package, RocksDB, and the bundled libraries of
// isolated-vm. CycloneDX 1.6, from the lock files only: nothing is fetched.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { Contrib, Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library'
import { PackageURL } from 'packageurl-js'
import parseExpression from 'spdx-expression-parse'
import { ROOT } from '../env.mjs'
import { PINS } from '../pins.mjs'

/**
 * The platform whose dependencies are listed: other platforms differ in a few crates of operating
 * systems.
 */
const TARGET = 'x86_64-unknown-linux-gnu'

const licences = new Contrib.License.Factories.LicenseFactory(parseExpression)

function cargo(...args) {
  const { status, stdout, stderr } = spawnSync('cargo', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (status !== 0) throw new Error(`cargo ${args.join(' ')} failed: ${stderr}`)
  return stdout
}

/**
 * cargo's description of the workspace and of all that it depends on, tests and tools included.
 *
 * @returns {{ packages: { name: string, version: string, license: string | null,
 *   source: string | null }[] }}
 */
export const cargoMetadata = () => JSON.parse(cargo('metadata', '--format-version', '1', '--locked', '--filter-platform', TARGET))

/** The licence of a crate as an SPDX expression: crates of before 2018 write a slash for OR. */
export const spdx = (licence) => licence.replaceAll(/\s*\/\s*/g, ' OR ')

/**
 * The crates that are linked into the native core, without the workspace's own:
 * `{ name, version, license }`. Crates that only a build script or a test needs are not among them:
 * `cargo tree` resolves features as a build does, which `cargo metadata` does not.
 */
export function linkedCrates({ packages } = cargoMetadata()) {
  const tree = cargo('tree', '--locked', '-p', 'hearth-native', '-e', 'normal', '--target', TARGET, '--prefix', 'none', '-f', '{p}')
  const linked = new Set([...tree.matchAll(/^(\S+) v(\S+)/gm)].map(([, name, version]) => `${name} ${version}`))
  const crates = packages.filter(({ name, version, source }) => source !== null && linked.has(`${name} ${version}`))
  return crates.sort((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1))
}

/** The SHA-256 of each crate's archive, by `name version`, as Cargo.lock has it. */
export function crateDigests() {
  const lock = fs.readFileSync(path.join(ROOT, 'Cargo.lock'), 'utf8')
  const entry = /^name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]{64})"$/gm
  return new Map([...lock.matchAll(entry)].map(([, name, version, digest]) => [`${name} ${version}`, digest]))
}

/**
 * The npm packages that are installed with the package: entries of package-lock.json.
 *
 * @returns {{ name: string, version: string, license?: string, integrity: string }[]}
 */
export function installedPackages() {
  const { packages } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'))
  const kept = Object.entries(packages).filter(([key, { dev, devOptional, peer }]) => key !== '' && !dev && !devOptional && !peer)
  return kept.map(([key, entry]) => ({ name: key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length), ...entry }))
}

/** A digest in hex, from subresource integrity. */
const hexOf = (integrity) => Buffer.from(integrity.slice(integrity.indexOf('-') + 1), 'base64').toString('hex')

/**
 * @param {{ name: string, version: string, license?: string | undefined, purl: PackageURL,
 *   sha256?: string | undefined, sha512?: string | undefined }} part
 */
function component({ name, version, license, purl, sha256, sha512 }) {
  const hashes = []
  if (sha256 !== undefined) hashes.push([Enums.HashAlgorithm['SHA-256'], sha256])
  if (sha512 !== undefined) hashes.push([Enums.HashAlgorithm['SHA-512'], sha512])
  return new Models.Component(Enums.ComponentType.Library, name, {
    version,
    purl: purl.toString(),
    bomRef: purl.toString(),
    hashes: new Models.HashDictionary(hashes),
    licenses: new Models.LicenseRepository(license === undefined ? [] : [licences.makeFromString(license)]),
  })
}

const npm = (name, version) => {
  const cut = name.startsWith('@') ? name.indexOf('/') : -1
  return new PackageURL('npm', cut < 0 ? undefined : name.slice(0, cut), name.slice(cut + 1), version)
}

/** The bill of materials as JSON text. */
export function billOfMaterials() {
  const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
  const bom = new Models.Bom()
  const purl = npm(manifest.name, manifest.version).toString()
  bom.metadata.component = new Models.Component(Enums.ComponentType.Application, manifest.name, {
    version: manifest.version,
    purl,
    bomRef: purl,
    licenses: new Models.LicenseRepository([licences.makeFromString(manifest.license)]),
  })
  const digests = crateDigests()
  for (const { name, version, license } of linkedCrates()) {
    const purl = new PackageURL('cargo', undefined, name, version)
    const sha256 = digests.get(`${name} ${version}`)
    bom.components.add(component({ name, version, license: license === null ? undefined : spdx(license), purl, sha256 }))
    if (name !== 'librocksdb-sys') continue
    // The crate's version ends with that of the RocksDB that it brings.
    const rocksdb = version.slice(version.indexOf('+') + 1)
    const source = new PackageURL('github', 'facebook', 'rocksdb', `v${rocksdb}`)
    bom.components.add(component({ name: 'rocksdb', version: rocksdb, license: 'GPL-2.0-only OR Apache-2.0', purl: source }))
  }
  for (const { name, version, license, integrity } of installedPackages())
    bom.components.add(component({ name, version, license, purl: npm(name, version), sha512: hexOf(integrity) }))
  for (const [file, integrity] of Object.entries(PINS)) {
    const version = /^isolated-vm-(.+)\.tgz$/.exec(file)?.[1]
    if (version === undefined) continue
    const purl = npm('isolated-vm', version)
    bom.components.add(component({ name: 'isolated-vm', version, license: 'ISC', purl, sha512: hexOf(integrity) }))
  }
  const normalizer = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6)
  return new Serialize.JsonSerializer(normalizer).serialize(bom, { sortLists: true, space: 2 })
}
