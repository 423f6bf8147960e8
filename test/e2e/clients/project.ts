// A project of a client's own kind in a temporary folder, with the installed packages, and its
// commands.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Installed } from './install.ts'

/** How long a command may take, in milliseconds. */
const COMMAND_MS_MAX = 240_000

/** How a command ended. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A project that exists until it is removed. */
export interface Project {
  readonly dir: string
  /** Runs a program in the project to its end. */
  readonly run: (command: string, args: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Ended>
  readonly remove: () => void
}

/**
 * Copies the sources of `source` (a folder next to this file) to a new folder in which the packages
 * are found.
 */
export function project(source: string, installed: Installed & { readonly dir: string }): Project {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), `hearth-${source}-`))
  fs.cpSync(path.join(import.meta.dirname, source), dir, { recursive: true })
  fs.symlinkSync(path.join(installed.dir, 'node_modules'), path.join(dir, 'node_modules'), 'dir')
  const run: Project['run'] = (command, args, env = {}) =>
    new Promise((resolve, reject) => {
      // A home of its own, so that neither caches nor settings of this machine's user play a part.
      const own = { HOME: dir, XDG_CONFIG_HOME: dir, XDG_CACHE_HOME: dir, XDG_DATA_HOME: dir, NO_COLOR: '1', FORCE_COLOR: '0', CI: 'true' }
      const child = spawn(command, args, {
        cwd: dir,
        env: { ...process.env, ...own, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: COMMAND_MS_MAX,
      })
      const text = { out: '', err: '' }
      child.stdout.on('data', (data: Buffer) => {
        text.out += data.toString()
      })
      child.stderr.on('data', (data: Buffer) => {
        text.err += data.toString()
      })
      child.once('error', reject)
      child.once('close', (code) => resolve({ code, ...text }))
    })
  return { dir, run, remove: () => fs.rmSync(dir, { recursive: true, force: true }) }
}
