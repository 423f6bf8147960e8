// The home directory and its settings file.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { defaultFile, type Resolved, resolveSettings, type SettingKey } from '../config/index.ts'
import { settingsFile } from '../node/settings-file.ts'
import { type Flag, type Parsed, UsageError } from './args.ts'
import type { Terminal } from './command.ts'

/** The flag that every command on a home has. */
export const HOME_FLAG: Readonly<Record<string, Flag>> = { home: { value: 'DIR', doc: 'Data directory. Default: ~/.hearth.' } }

/** Where a node listens: short names of settings. */
export const LISTEN_FLAGS: Readonly<Record<string, Flag>> = {
  host: { value: 'HOST', settings: ['evm.http_host', 'evm.ws_host'], doc: 'Address to listen on.' },
  port: { value: 'PORT', settings: ['evm.http_port'], doc: 'Port of JSON-RPC over HTTP and WebSocket.' },
}

/** Settings of the stores that commands without a node read. */
export const STORE_SETTINGS: readonly SettingKey[] = [
  'state-commit.flatkv.fsync',
  'state-commit.flatkv.memory_budget_bytes',
  'littable.extra_roots',
  'evm.address_index',
  'evm.address_index_window_blocks',
]

function isFile(place: string): boolean {
  try {
    return fs.statSync(place).isFile()
  } catch {
    return false
  }
}

/** Absolute path of the home that a flag names. */
export function namedHome(given: string): string {
  // As of a variable of the shell that is not set: it would be the folder of the moment.
  if (given === '') throw new UsageError('--home is empty: give a folder')
  return path.resolve(given)
}

/** Absolute path of the home. */
export function homeOf(parsed: Parsed): string {
  const home = namedHome(parsed.flags.get('home') ?? path.join(os.homedir(), '.hearth'))
  if (isFile(home)) throw new UsageError(`--home ${home} is a file: give a folder`)
  return home
}

/**
 * A new home is private to its owner: its settings may contain keys of hosted nodes and a mnemonic.
 * An existing home keeps its mode.
 */
export function makeHome(home: string): void {
  fs.mkdirSync(home, { recursive: true, mode: 0o700 })
}

/**
 * Runs work that fills a home, which is made first; if the work fails, a newly made home is removed
 * again.
 */
export async function inHome<T>(home: string, work: () => Promise<T>): Promise<T> {
  const isNew = !fs.existsSync(home)
  makeHome(home)
  try {
    return await work()
  } finally {
    addSettingsFile(home)
    if (isNew && fs.readdirSync(home).length === 0) fs.rmdirSync(home)
  }
}

/** Writes a settings file that its owner alone may read. */
export function writeSettingsFile(file: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  fs.writeFileSync(file, defaultFile(), { mode: 0o600 })
}

/**
 * Writes the settings file of a home that has a chain but no such file: every line commented out.
 */
export function addSettingsFile(home: string): void {
  const file = settingsFile(home)
  const hasChain = fs.existsSync(path.join(home, 'config', 'chain.json'))
  if (hasChain && !fs.existsSync(file)) writeSettingsFile(file)
}

/** A file with its text; undefined where there is none. */
const fileOf = (file: string): { readonly path: string; readonly text: string } | undefined =>
  fs.existsSync(file) ? { path: file, text: fs.readFileSync(file, 'utf8') } : undefined

/**
 * The settings of a command line, with or without a home; warnings go to standard error. `dev` uses
 * the defaults of `hearth dev`. The environment is a copy: each read of process.env is a call of
 * the system.
 */
export function settingsOf(
  parsed: Parsed,
  home: string | undefined,
  terminal: Terminal,
  { dev = false, environment = { ...process.env } }: { readonly dev?: boolean; readonly environment?: NodeJS.ProcessEnv } = {},
): Resolved {
  const file = home === undefined ? undefined : fileOf(settingsFile(home))
  const resolved = resolveSettings({ flags: parsed.settings, environment, file, dev })
  for (const warning of resolved.warnings) terminal.err(`warning: ${warning}\n`)
  return resolved
}
