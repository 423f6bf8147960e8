/** A crate, as `cargo metadata` describes it. */
export interface Crate {
  readonly name: string
  readonly version: string
  readonly license: string | null
  readonly source: string | null
}

export interface Metadata {
  readonly packages: readonly Crate[]
}

/** An entry of package-lock.json. */
export interface NpmPackage {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly integrity: string
}

export function cargoMetadata(): Metadata
export function linkedCrates(metadata?: Metadata): readonly Crate[]
export function crateDigests(): ReadonlyMap<string, string>
export function installedPackages(): readonly NpmPackage[]
export function spdx(licence: string): string
export function billOfMaterials(): string
