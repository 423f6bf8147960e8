// Finds the artifacts of a folder: of `out` or `artifacts` itself, or of the project that has one.
import fs from 'node:fs/promises'
import path from 'node:path'
import { FILES_MAX, mayBeArtifact } from '../explore/artifacts/index.ts'

/** Folders within folders that are looked into. */
const DEPTH_MAX = 16

/** Folders that hold no artifacts of the project. */
const PASSED = new Set(['node_modules', '.git'])

/** Folders with artifacts by the file that makes a folder a project. */
const PROJECTS: readonly (readonly [file: RegExp, folder: string])[] = [
  [/^foundry\.toml$/, 'out'],
  [/^hardhat\.config\.[cm]?[jt]s$/, 'artifacts'],
]

/** Where Foundry writes which contract is of which build. */
const FOUNDRY_CACHE = 'cache/solidity-files-cache.json'

/** A file that may be an artifact. */
export interface Found {
  readonly file: string
  readonly bytes: number
  /** Changes with the file: its size and when it was written. */
  readonly mark: string
}

/** What a folder has. */
export interface Scan {
  /** The project's folder, from which sources are read. */
  readonly root: string
  readonly files: readonly Found[]
  /** Whether there are more files than are looked at. */
  readonly isCut: boolean
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await fs.readdir(folder)
  } catch {
    return []
  }
}

/** The folder of artifacts in a project; undefined where a folder is no project. */
async function artifactsOf(folder: string): Promise<readonly string[] | undefined> {
  const names = await namesIn(folder)
  const found = PROJECTS.filter(([file]) => names.some((name) => file.test(name))).map(([, name]) => path.join(folder, name))
  return found.length === 0 ? undefined : found
}

async function found(file: string): Promise<Found[]> {
  try {
    const { size, mtimeMs, isFile } = await fs.stat(file).then((stat) => ({ ...stat, isFile: stat.isFile() }))
    return isFile ? [{ file, bytes: size, mark: `${file} ${size} ${mtimeMs}` }] : []
  } catch {
    // It was removed in the meantime, as compilers do.
    return []
  }
}

/** Files below a folder; links are not followed. */
async function walk(folder: string): Promise<{ readonly files: readonly Found[]; readonly isCut: boolean }> {
  const files: Found[] = []
  const waiting: { readonly folder: string; readonly depth: number }[] = [{ folder, depth: 0 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const entries = await fs.readdir(next.folder, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const at = path.join(next.folder, entry.name)
      if (entry.isDirectory() && next.depth < DEPTH_MAX && !PASSED.has(entry.name)) waiting.push({ folder: at, depth: next.depth + 1 })
      if (!entry.isFile() || !mayBeArtifact(entry.name)) continue
      if (files.length >= FILES_MAX) return { files, isCut: true }
      files.push(...(await found(at)))
    }
  }
  return { files, isCut: false }
}

/** Looks into a folder. */
export async function scan(folder: string): Promise<Scan> {
  const inProject = await artifactsOf(folder)
  const above = inProject === undefined && (await artifactsOf(path.dirname(folder))) !== undefined
  const root = inProject !== undefined ? folder : path.dirname(folder)
  const walked = await Promise.all((inProject ?? [folder]).map(walk))
  const cache = inProject !== undefined || above ? await found(path.join(root, FOUNDRY_CACHE)) : []
  return { root, files: [...cache, ...walked.flatMap(({ files }) => files)], isCut: walked.some(({ isCut }) => isCut) }
}
