// The artifacts of some folders: read with the first request, and again after a compiler wrote
// them.
import { readFileSync, statSync } from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import {
  ArtifactSet,
  type Contract,
  type ContractAnswer,
  FILE_BYTES_MAX,
  layoutJson,
  type Match,
  READ_BYTES_MAX,
  type SourceAnswer,
  sourceAnswer,
} from '../explore/artifacts/index.ts'
import { type Found, type Scan, scan } from './scan.ts'

/** Time for which folders are not looked at again, in milliseconds. */
const FRESH_MS = 1000

/** Maximum size of a source file that is read, in bytes. */
const SOURCE_BYTES_MAX = 8 * 1024 * 1024

const MIB = 1024 * 1024

/** Codes to be named. */
export interface IdentifyRequest {
  /** Code of accounts by address, `0x…`. */
  readonly codes: ReadonlyMap<string, string>
  /** Data of creations that made no account. */
  readonly creations: readonly string[]
}

/** Contracts by address, and by place of the creations. */
export interface Identified {
  readonly addresses: Readonly<Record<string, readonly ContractAnswer[]>>
  readonly creations: readonly (readonly ContractAnswer[])[]
  /** Number of contracts in the artifacts. */
  readonly contracts: number
  /** Files that were passed over, by names within their folders. */
  readonly problems: readonly { readonly file: string; readonly message: string }[]
}

interface Loaded {
  readonly set: ArtifactSet
  readonly roots: readonly string[]
  readonly marks: string
}

/** The artifacts of folders. */
export class ArtifactFolders {
  private readonly folders: readonly string[]
  private loaded: Loaded | undefined
  private lookedAt = Number.NEGATIVE_INFINITY
  private running: Promise<Loaded> | undefined
  /** Ids of sources hold as long as the artifacts do. */
  private generation = 0

  constructor(folders: readonly string[]) {
    this.folders = folders.map((folder) => path.resolve(folder))
  }

  private load(): Promise<Loaded> {
    if (this.loaded !== undefined && performance.now() - this.lookedAt < FRESH_MS) return Promise.resolve(this.loaded)
    this.running ??= this.read().finally(() => {
      this.running = undefined
    })
    return this.running
  }

  private async read(): Promise<Loaded> {
    const scans = await Promise.all(this.folders.map(scan))
    const marks = scans.flatMap(({ files }) => files.map(({ mark }) => mark)).join('\n')
    if (this.loaded?.marks !== marks) {
      const set = new ArtifactSet()
      await fill(set, scans)
      this.generation++
      this.loaded = { set, roots: scans.map(({ root }) => root), marks }
    }
    this.lookedAt = performance.now()
    return this.loaded as Loaded
  }

  /** The contracts of codes. */
  async identify({ codes, creations }: IdentifyRequest): Promise<Identified> {
    const { set } = await this.load()
    const answers = (matches: readonly Match[]): ContractAnswer[] => matches.map((match) => this.answer(match))
    const addresses = [...codes].map(([address, code]) => [address, answers(set.matchRuntime(code))] as const)
    return {
      addresses: Object.fromEntries(addresses.filter(([, found]) => found.length > 0)),
      creations: creations.map((data) => answers(set.matchCreation(data))),
      contracts: set.contracts.length,
      problems: set.problems,
    }
  }

  private answer({ contract, how }: Match): ContractAnswer {
    const { id, name, source, signatures, layout } = contract
    return {
      id: `${this.generation}-${id}`,
      name,
      source,
      how,
      signatures,
      ...(layout === undefined ? {} : { layout: layoutJson(layout) }),
    }
  }

  /**
   * The lines of a contract by the id that `identify` gave; undefined where the artifacts are
   * others by now.
   */
  async source(id: string): Promise<SourceAnswer | undefined> {
    const { set, roots } = await this.load()
    const [, generation, number] = /^(\d{1,9})-(\d{1,9})$/.exec(id) ?? []
    const contract: Contract | undefined = Number(generation) === this.generation ? set.contracts[Number(number)] : undefined
    return contract === undefined ? undefined : sourceAnswer(contract, (source) => readSource(roots, source))
  }
}

/** Reads the files one after the other; between them, others have their turn. */
async function fill(set: ArtifactSet, scans: readonly Scan[]): Promise<void> {
  let bytes = 0
  for (const { root, files, isCut } of scans) {
    const name = ({ file }: Found): string => path.relative(root, file)
    if (isCut) set.refuse('.', 'the folder has more files than are read: give the folder of the artifacts alone')
    for (const found of files) {
      if (found.bytes > FILE_BYTES_MAX) set.refuse(name(found), `the file has ${mib(found.bytes)}, at most ${mib(FILE_BYTES_MAX)} are read`)
      else if (bytes + found.bytes > READ_BYTES_MAX) set.refuse(name(found), `${mib(READ_BYTES_MAX)} of artifacts are read already`)
      else {
        bytes += found.bytes
        try {
          set.add(name(found), await fs.readFile(found.file, 'utf8'))
        } catch (e) {
          set.refuse(name(found), `the file does not read (${(e as NodeJS.ErrnoException).code ?? 'unknown error'})`)
        }
        await new Promise(setImmediate)
      }
    }
  }
}

const mib = (bytes: number): string => `${Math.ceil(bytes / MIB)} MiB`

/**
 * A file of a project by the path that the compiler was given; the hash says whether it is the one
 * that was compiled.
 */
function readSource(roots: readonly string[], source: string): string | undefined {
  for (const root of roots) {
    const file = path.resolve(root, source)
    try {
      const stat = statSync(file)
      if (stat.isFile() && stat.size <= SOURCE_BYTES_MAX) return readFileSync(file, 'utf8')
    } catch {
      // It is in none, or in another of the projects.
    }
  }
  return undefined
}
