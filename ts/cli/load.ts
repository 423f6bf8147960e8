// Loads the program: out of one file with V8's code cache where the build made them and nothing is
// newer, else module by module.
import fs from 'node:fs'
import nodeModule, { createRequire } from 'node:module'
import path from 'node:path'
import vm from 'node:vm'
import type { Terminal } from './command.ts'

/** The program in one file. */
export const PROGRAM = path.join(import.meta.dirname, 'program.cjs')
/**
 * What the V8 of this Node has compiled of it: V8 refuses what another release compiled, so a
 * package has one for each ABI.
 */
export const CACHE = path.join(import.meta.dirname, `program-${process.versions.modules}.cache`)

/**
 * What the file was made from, as far as it takes to see that it is older: the compiler and the
 * build write all of each at once.
 */
const SOURCES = [path.join(import.meta.dirname, 'run.js'), path.join(import.meta.dirname, '../../native/index.js')]

/** The program. */
export interface Program {
  /** Runs a command line without the program's name; resolves to the exit code. */
  readonly main: (argv: readonly string[], terminal: Terminal) => Promise<number>
  /** What V8 has compiled of it so far; empty where it was loaded module by module. */
  readonly codeCache: () => Buffer
  /** Whether V8 took the code cache; it refuses one of another release of Node. */
  readonly cached: boolean
}

/**
 * In an installed package the file is never out of date, and times of files are those at which npm
 * unpacked them.
 */
const isInstalled = (): boolean => !fs.existsSync(path.join(import.meta.dirname, '../../native/setup'))

const changed = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Node's own code cache (from version 22.1), which the types of this project's oldest lack. */
const { enableCompileCache } = nodeModule as { readonly enableCompileCache?: () => unknown }

/** The program with Node's own code cache: it has what an earlier run compiled. */
function fromCompileCache(enable: () => unknown): Program {
  enable()
  const { main } = createRequire(PROGRAM)(PROGRAM) as Pick<Program, 'main'>
  return { main, codeCache: () => Buffer.alloc(0), cached: false }
}

/**
 * The program as an expression of a function with a module's five names. It is put together in one
 * buffer: V8 then uses these bytes, where it would copy a string of parts.
 */
function wrapped(): string {
  const [head, tail] = ['(function (exports, require, module, __filename, __dirname) {', '\n})']
  const program = fs.openSync(PROGRAM, 'r')
  try {
    const { size } = fs.fstatSync(program)
    const bytes = Buffer.allocUnsafeSlow(head.length + size + tail.length)
    bytes.write(head, 'latin1')
    for (let read = 0; read < size; ) {
      const count = fs.readSync(program, bytes, { offset: head.length + read, length: size - read, position: read })
      if (count === 0) throw new Error(`${PROGRAM} became shorter while it was read`)
      read += count
    }
    bytes.write(tail, head.length + size, 'latin1')
    return bytes.toString('latin1')
  } finally {
    fs.closeSync(program)
  }
}

/** `cachedData` is what V8 compiled before; undefined if it has to compile. */
function fromFile(cachedData: Buffer | undefined): Program {
  const source = wrapped()
  const script = new vm.Script(source, {
    filename: PROGRAM,
    ...(cachedData === undefined ? {} : { cachedData }),
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  // What another release of Node compiled.
  if (script.cachedDataRejected === true && enableCompileCache !== undefined) return fromCompileCache(enableCompileCache)
  const module: { exports: Pick<Program, 'main'> } = { exports: { main: async () => 1 } }
  script.runInThisContext()(module.exports, createRequire(PROGRAM), module, PROGRAM, import.meta.dirname)
  const cached = cachedData !== undefined && script.cachedDataRejected === false
  return { main: module.exports.main, codeCache: () => script.createCachedData(), cached }
}

/** Loads the program; `fresh` leaves out the code cache, so that a new one can be made. */
export async function loadProgram({ fresh = false }: { readonly fresh?: boolean } = {}): Promise<Program> {
  const made = changed(PROGRAM)
  if (made > 0 && (isInstalled() || SOURCES.every((source) => changed(source) <= made))) {
    const isCached = !fresh && fs.existsSync(CACHE)
    if (!isCached && !fresh && enableCompileCache !== undefined) return fromCompileCache(enableCompileCache)
    return fromFile(isCached ? fs.readFileSync(CACHE) : undefined)
  }
  const { main } = await import('./run.ts')
  return { main, codeCache: () => Buffer.alloc(0), cached: false }
}
