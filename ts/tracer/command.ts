// How a child process of JavaScript tracers is started on this machine, or why it cannot be.
import fs from 'node:fs'
import path from 'node:path'

/** A program and its arguments. */
export interface ScriptCommand {
  readonly program: string
  readonly args: readonly string[]
}

/** Where the compiled package lies: this file is dist/tracer/command.js. */
const ROOT = path.join(import.meta.dirname, '../..')

/** The library of isolated-vm for the Node that runs this; set-up puts it there. */
export const isolatedVmFile = (): string => path.join(ROOT, 'native', `isolated-vm-${process.versions.modules}.node`)

/**
 * Options of V8 and Node: isolated-vm needs Node's own start snapshot off; what scripts must not have is switched off in the engine too; less
 * memory is reserved ahead, which a process that may be one of many does not need.
 */
const OPTIONS = ['--no-node-snapshot', '--no-expose-wasm', '--no-warnings', '--stack-size=900', '--max-semi-space-size=8']

/** The command of a child, or one sentence that says what is missing and what to type. */
export function scriptCommand(library = isolatedVmFile()): ScriptCommand | { readonly unavailable: string } {
  if (process.platform !== 'linux') return { unavailable: 'JavaScript tracers need Linux: their processes are confined by its kernel' }
  if (!fs.existsSync(library)) {
    return {
      unavailable:
        'JavaScript tracers are not available on this node: isolated-vm is not built for this Node.js. Type: npm run build, and do what it says, then start the node again',
    }
  }
  return { program: process.execPath, args: [...OPTIONS, path.join(import.meta.dirname, 'child/main.js'), library] }
}
