// How a child process of JavaScript tracers is started on this machine, or why it cannot be.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/** A program and its arguments. */
export interface ScriptCommand {
  readonly program: string
  readonly args: readonly string[]
}

/** Where the compiled package lies: this file is dist/tracer/command.js. */
const ROOT = path.join(import.meta.dirname, '../..')

/** The name of the library of isolated-vm for an ABI of Node. */
const libraryName = (abi: string): string => `isolated-vm-${abi}.node`

/** Major versions of Node by the ABI of their libraries. */
const NODES: Readonly<Record<string, number>> = { 115: 20, 127: 22, 137: 24 }

/**
 * Folders that may hold the library: the package's own, and that of the package with the binary for
 * this platform.
 */
function libraryFolders(root: string): readonly string[] {
  const own = path.join(root, 'native')
  try {
    const platform = createRequire(path.join(root, 'package.json')).resolve(
      `hearth-core-${process.platform}-${process.arch}-gnu/package.json`,
    )
    return [own, path.dirname(platform)]
  } catch {
    return [own]
  }
}

/** The library of isolated-vm for the Node that runs this; undefined where there is none. */
export const isolatedVmFile = (root = ROOT, abi = process.versions.modules): string | undefined =>
  libraryFolders(root)
    .map((dir) => path.join(dir, libraryName(abi)))
    .find((file) => fs.existsSync(file))

/** The core's library for this machine; undefined where there is none. */
export const coreFile = (root = ROOT): string | undefined =>
  libraryFolders(root)
    .flatMap((dir) => (fs.existsSync(dir) ? fs.readdirSync(dir).map((name) => path.join(dir, name)) : []))
    .find((file) => new RegExp(`^hearth\\.${process.platform}-${process.arch}.*\\.node$`).test(path.basename(file)))

/** Major versions of Node whose libraries are there. */
function nodesOf(root: string): readonly number[] {
  const files = libraryFolders(root).flatMap((dir) => (fs.existsSync(dir) ? fs.readdirSync(dir) : []))
  return Object.entries(NODES).flatMap(([abi, node]) => (files.includes(libraryName(abi)) ? [node] : []))
}

/**
 * Why there is no library, and what helps: a build in a checkout, another version of Node for an
 * installed package.
 */
export function whyNoLibrary(root = ROOT): string {
  const what = `JavaScript tracers are not available: isolated-vm for Node ${process.versions.node}`
  if (fs.existsSync(path.join(root, 'native/setup/isolated-vm.mjs'))) {
    return `${what} is not built. Run npm run build in the checkout, which names what is missing, then start the node again`
  }
  const nodes = nodesOf(root)
  if (nodes.length === 0) return `${what} is not in this package, which was packed without it`
  return `${what} is not in this package, which has it for Node ${nodes.join(', ')}. Start the node with one of these versions`
}

/**
 * The first major version of Node whose V8 has no switch for WebAssembly; scripts find none there
 * either, see inside/globals.ts.
 */
const NO_WASM_SWITCH = 24

/**
 * The first major version of Node whose V8 decides by the number of calls when to optimize, and
 * refuses `--interrupt-budget`.
 */
const NO_BUDGET_SWITCH = 22

/**
 * Options of V8 and Node: isolated-vm needs Node's own start snapshot off; what scripts must not
 * have is switched off in the engine too; less memory is reserved ahead, which a process that may
 * be one of many does not need. Under Node 20 code is optimized after seven times as much work as
 * by default: a transaction with a context of its own begins with cold code, and of a block of
 * those the compiler took half of the processor time.
 */
const optionsFor = (node: number): readonly string[] => [
  '--no-node-snapshot',
  ...(node < NO_WASM_SWITCH ? ['--no-expose-wasm'] : []),
  '--no-warnings',
  '--stack-size=900',
  '--max-semi-space-size=8',
  ...(node < NO_BUDGET_SWITCH ? ['--interrupt-budget=500000'] : []),
]

/** The major version of the Node that runs this. */
const NODE = Number(process.versions.node.split('.')[0])

/** The command of a child, or one sentence that says what is missing and what helps. */
export function scriptCommand(library = isolatedVmFile()): ScriptCommand | { readonly unavailable: string } {
  if (process.platform !== 'linux') return { unavailable: 'JavaScript tracers need Linux: their processes are confined by its kernel' }
  if (library === undefined) return { unavailable: whyNoLibrary() }
  const core = coreFile()
  const files = core === undefined ? [library] : [library, core]
  return { program: process.execPath, args: [...optionsFor(NODE), path.join(import.meta.dirname, 'child/main.js'), ...files] }
}
