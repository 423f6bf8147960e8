// The supply chain of Hearth: licences, sources and bans according to deny.toml, digests in the
// lock files, and the bill of materials of a release.
import fs from 'node:fs'
import path from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { parse } from 'smol-toml'
import satisfies from 'spdx-satisfies'
import { describe, expect, it } from 'vitest'
import { billOfMaterials, cargoMetadata, crateDigests, installedPackages, linkedCrates, spdx } from '../../native/setup/sbom/bom.mjs'

const ROOT = path.resolve(import.meta.dirname, '../..')

interface Rules {
  licenses: { allow: string[] }
  bans: { deny: { crate: string; reason: string }[] }
  sources: { 'allow-registry': string[] }
}

interface Component {
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
}

const rules = parse(fs.readFileSync(path.join(ROOT, 'deny.toml'), 'utf8')) as unknown as Rules
const metadata = cargoMetadata()
const foreign = metadata.packages.filter(({ source }) => source !== null)
const npmLock = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, { integrity?: string; resolved?: string; link?: boolean }>
}

const allowed = (licence: string): boolean => satisfies(licence, rules.licenses.allow)

describe('crates', () => {
  it('have a licence that deny.toml allows', () => {
    expect(foreign.length).toBeGreaterThan(100)
    const refused = foreign.filter(({ license }) => license === null || !allowed(spdx(license)))
    expect(refused.map(({ name, license }) => `${name}: ${license}`)).toEqual([])
    expect(allowed('GPL-3.0-only')).toBe(false)
    expect(allowed('MIT AND GPL-2.0-only')).toBe(false)
  })

  it('come from the registry that deny.toml allows', () => {
    const registries = rules.sources['allow-registry'].map((url) => `registry+${url}`)
    expect(foreign.filter(({ source }) => !registries.includes(source ?? '')).map(({ name, source }) => `${name}: ${source}`)).toEqual([])
  })

  it('are none that deny.toml bans', () => {
    const linked = new Set(linkedCrates(metadata).map(({ name }) => name))
    const banned = rules.bans.deny.filter(({ crate }) => linked.has(crate))
    expect(banned.map(({ crate, reason }) => `${crate}: ${reason}`)).toEqual([])
  })

  it('have a digest in Cargo.lock', () => {
    const digests = crateDigests()
    expect(foreign.filter(({ name, version }) => !digests.has(`${name} ${version}`)).map(({ name }) => name)).toEqual([])
  })
})

describe('npm packages', () => {
  const entries = Object.entries(npmLock.packages).filter(([key]) => key !== '')

  it('have a SHA-512 digest in the lock file, one registry', () => {
    expect(entries.length).toBeGreaterThan(100)
    const loose = entries.filter(([, { integrity, link }]) => link === true || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))
    expect(loose.map(([key]) => key)).toEqual([])
    // The registry is a setting of the installing user; an entry with a URL of its own would bypass
    // it.
    expect(entries.filter(([, { resolved }]) => resolved !== undefined).map(([key]) => key)).toEqual([])
  })

  it('of the package have a licence that deny.toml allows', () => {
    const installed = installedPackages()
    expect(installed.map(({ name }) => name)).toContain('hono')
    const refused = installed.filter(({ license }) => license === undefined || !allowed(license))
    expect(refused.map(({ name, license }) => `${name}: ${license}`)).toEqual([])
  })
})

describe('the bill of materials', () => {
  const text = billOfMaterials()
  const { components } = JSON.parse(text) as { components: Component[] }
  const purls = new Set(components.map(({ purl }) => purl))

  it('is CycloneDX 1.6', async () => {
    const refused = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)
    expect(refused).toBeNull()
  })

  it('has each crate with digest, each package, RocksDB', () => {
    const digests = crateDigests()
    for (const { name, version } of linkedCrates(metadata)) {
      const found = components.find((one) => one.name === name && one.version === version && one.purl.startsWith('pkg:cargo/'))
      expect(found?.hashes, name).toEqual([{ alg: 'SHA-256', content: digests.get(`${name} ${version}`) }])
    }
    for (const { name, version } of installedPackages()) expect(purls).toContain(`pkg:npm/${name.replace('@', '%40')}@${version}`)
    expect([...purls].filter((purl) => purl.startsWith('pkg:github/facebook/rocksdb@v'))).toHaveLength(1)
    expect([...purls].filter((purl) => purl.startsWith('pkg:npm/isolated-vm@'))).toHaveLength(3)
    expect([...purls].filter((purl) => /vitest|criterion|proptest/.test(purl))).toEqual([])
  })

  it('is the same each time', () => {
    expect(billOfMaterials()).toBe(text)
  })
})
