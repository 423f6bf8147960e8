// Artifacts of folders or of dropped files together: each contract with its build, compared with
// code on chain, and its sources.
import { Hash } from 'ox'
import { type Match, Matcher } from './match.ts'
import { type Draft, type Piece, readArtifact } from './read.ts'
import { BadArtifact, type Build, type Contract, KEPT_CHARACTERS_MAX } from './types.ts'

/** A skipped file, with the reason. */
export interface Problem {
  readonly file: string
  readonly message: string
}

/** Problems that are kept; the rest are counted. */
const PROBLEMS_MAX = 200

/** A source, or why there is none. */
export type Source = { readonly text: string } | { readonly problem: string }

/** Finds the text of a source that no build has: by its path as the compiler was given it. */
export type FindSource = (path: string) => string | undefined

/** Characters that a contract keeps. */
function sizeOf({ signatures, runtime, creation, layout }: Draft): number {
  const codes = [runtime, creation].reduce((sum, code) => sum + (code?.hex.length ?? 0) + (code?.sourceMap?.length ?? 0), 0)
  return codes + signatures.reduce((sum, signature) => sum + signature.length, 0) + 200 * (layout?.types.size ?? 0)
}

const keyOf = ({ source, name }: Pick<Draft, 'source' | 'name'>): string => `${source}:${name}`

/** Gathers files, then gives their contracts. */
export class ArtifactSet {
  readonly problems: Problem[] = []
  private readonly drafts: Draft[] = []
  private readonly builds = new Map<string, Build>()
  private readonly buildOf = new Map<string, readonly string[]>()
  private kept = 0
  private joined: readonly Contract[] | undefined
  private matcher: Matcher | undefined

  /** Adds a file. One that is broken, or has no room, is a problem of the set and fails nothing. */
  add(file: string, text: string): void {
    try {
      this.take(readArtifact(file, text))
    } catch (e) {
      if (!(e instanceof BadArtifact)) throw e
      this.refuse(file, e.message)
    }
  }

  /** Notes a file that was not added. */
  refuse(file: string, message: string): void {
    if (this.problems.length < PROBLEMS_MAX) this.problems.push({ file, message })
  }

  private take({ contracts, builds, buildOf }: Piece): void {
    const texts = builds.reduce((sum, build) => sum + [...build.texts.values()].reduce((all, text) => all + text.length, 0), 0)
    const size = texts + contracts.reduce((sum, contract) => sum + sizeOf(contract), 0)
    if (this.kept + size > KEPT_CHARACTERS_MAX)
      throw new BadArtifact(`all artifacts together keep more than ${KEPT_CHARACTERS_MAX / 1024 / 1024} Mi characters`)
    this.kept += size
    this.drafts.push(...contracts)
    for (const build of builds) this.builds.set(build.id, merged(this.builds.get(build.id), build))
    for (const [key, ids] of buildOf) this.buildOf.set(key, ids)
    this.joined = undefined
    this.matcher = undefined
  }

  /** The contracts; one that is in an artifact and in its build is one. */
  get contracts(): readonly Contract[] {
    this.joined ??= this.join()
    return this.joined
  }

  private join(): Contract[] {
    const byCode = new Map<string, Draft>()
    for (const draft of this.drafts) {
      const key = `${keyOf(draft)}:${draft.runtime?.hex ?? ''}:${draft.creation?.hex ?? ''}`
      const other = byCode.get(key)
      byCode.set(key, other === undefined ? draft : together(other, draft))
    }
    return [...byCode.values()].map(({ buildId, sourceId, isWhole, ...rest }, id) => {
      const build = this.buildFor({ buildId, sourceId, isWhole, ...rest })
      return { ...rest, id, build }
    })
  }

  /**
   * The build whose numbers a contract's source maps have; undefined where several would fit and
   * differ.
   */
  private buildFor(draft: Draft): Build | undefined {
    if (draft.buildId !== undefined) return this.builds.get(draft.buildId)
    const named = (this.buildOf.get(keyOf(draft)) ?? []).flatMap((id) => this.builds.get(id) ?? [])
    const fits = (build: Build): boolean =>
      draft.sourceId !== undefined &&
      build.paths.get(draft.sourceId) === draft.source &&
      [...draft.hashes.keys()].every((path) => [...build.paths.values()].includes(path))
    const all = named.length > 0 ? named.filter(fits) : [...this.builds.values()].filter(fits)
    const [first] = all
    const text = (build: Build | undefined): string => JSON.stringify([...(build?.paths ?? [])])
    return all.every((build) => text(build) === text(first)) ? first : undefined
  }

  /** Contracts of a code on chain, `0x…`. */
  matchRuntime(code: string): Match[] {
    return this.matching.runtime(code)
  }

  /** Contracts of creation code, with their constructor's arguments behind it. */
  matchCreation(data: string): Match[] {
    return this.matching.creation(data)
  }

  private get matching(): Matcher {
    this.matcher ??= new Matcher(this.contracts)
    return this.matcher
  }
}

/** Builds of one id: Hardhat 3 has the numbers of its sources in another file than their texts. */
function merged(one: Build | undefined, other: Build): Build {
  if (one === undefined) return other
  return {
    id: other.id,
    paths: other.paths.size > 0 ? other.paths : one.paths,
    texts: other.texts.size > 0 ? other.texts : one.texts,
  }
}

/** One contract out of two files. */
function together(one: Draft, other: Draft): Draft {
  const [first, second] = one.isWhole ? [one, other] : [other, one]
  return {
    ...first,
    runtime: first.runtime?.sourceMap === undefined ? (second.runtime ?? first.runtime) : first.runtime,
    creation: first.creation?.sourceMap === undefined ? (second.creation ?? first.creation) : first.creation,
    layout: first.layout ?? second.layout,
    hashes: first.hashes.size > 0 ? first.hashes : second.hashes,
    buildId: first.buildId ?? second.buildId,
    sourceId: first.sourceId ?? second.sourceId,
  }
}

const NO_BUILD =
  'the build of this contract is not among the artifacts: add build-info (Foundry writes it by forge build --build-info), and give one build of a project alone'

/**
 * The sources of a contract by their numbers. Of sources that no build has, `find` gives the text,
 * which is taken where it is the one that was compiled.
 */
export function sourcesOf(
  { build, hashes }: Contract,
  files: readonly number[],
  find: FindSource,
): { readonly id: number; readonly path: string; readonly source: Source }[] {
  if (build === undefined) return files.slice(0, 1).map((id) => ({ id, path: `source ${id}`, source: { problem: NO_BUILD } }))
  return files.flatMap((id) => {
    const path = build.paths.get(id)
    // Numbers behind those of the sources are of code that the compiler generates.
    if (path === undefined) return []
    const text = build.texts.get(path)
    return { id, path, source: text === undefined ? checked(path, hashes.get(path), find) : { text } }
  })
}

function checked(path: string, hash: string | undefined, find: FindSource): Source {
  if (hash === undefined) return { problem: 'the artifact has no hash of this source, so that no file can be taken for it' }
  const text = find(path)
  if (text === undefined) return { problem: 'the source is not there: neither in the build-info nor in the project' }
  const found = Hash.keccak256(new TextEncoder().encode(text), { as: 'Hex' })
  return found === hash ? { text } : { problem: 'the source has changed since it was compiled' }
}
