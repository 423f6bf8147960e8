// Finds the command, runs it, and turns failures into one clear paragraph and an exit code.
import { isBoolean, isSettingKey, SettingError } from '../config/index.ts'
import { ConsensusError } from '../consensus/error.ts'
import { CoreError, type CoreErrorKind } from '../core/error.ts'
import { FollowError } from '../follow/index.ts'
import { ForkError } from '../fork/index.ts'
import { AuthFileError } from '../server/admission/auth.ts'
import { ListenError } from '../server/listener.ts'
import { parseArgs, UsageError, unknownCommand } from './args.ts'
import { brief } from './brief.ts'
import { listHelp } from './columns.ts'
import type { Command, CommandFamily, Terminal } from './command.ts'
import { backup } from './commands/backup.ts'
import { bake } from './commands/bake.ts'
import { config } from './commands/config.ts'
import { db } from './commands/db/index.ts'
import { dev } from './commands/dev.ts'
import { exportCommand } from './commands/export.ts'
import { follow } from './commands/follow.ts'
import { importCommand } from './commands/import.ts'
import { init } from './commands/init.ts'
import { replay } from './commands/replay.ts'
import { start } from './commands/start.ts'
import { status } from './commands/status.ts'
import { testnet } from './commands/testnet.ts'
import { compare, simulate, trace } from './commands/trace.ts'
import { StateFileError } from './dev/state-files.ts'
import { EXIT } from './exit.ts'
import { commandHelp } from './help.ts'
import { HomeDeniedError } from './home-lock.ts'

/** Every command. */
export const COMMANDS: readonly (Command | CommandFamily)[] = [
  init,
  start,
  dev,
  follow,
  status,
  testnet,
  importCommand,
  exportCommand,
  replay,
  trace,
  compare,
  simulate,
  bake,
  db,
  backup,
  config,
]

const isHelpFlag = (arg: string): boolean => arg === '--help' || arg === '-h'

/** Also prints every setting. */
const HELP_ALL = '--help-all'

/** A command and its arguments; text if the line only requests help. */
type Found = { readonly command: Command; readonly args: readonly string[] } | { readonly help: string; readonly code: number }

/** Runs a command line without the program's name; resolves to the exit code. */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  let found: Found | undefined
  try {
    const printed = brief(argv)
    if (printed !== undefined) {
      terminal.out(printed.text)
      return printed.code
    }
    found = find('hearth', COMMANDS, argv)
    if ('help' in found) {
      terminal.out(found.help)
      return found.code
    }
    if (found.command.serves === true) terminal.serving?.()
    try {
      return await found.command.run(parseArgs(found.args, found.command), terminal)
    } finally {
      // Also of a node that failed: what is still open, such as stores that wait for CometBFT to
      // bring their state, must not keep the process.
      if (found.command.serves === true) terminal.closed?.()
    }
  } catch (e) {
    return fail(e, terminal, found !== undefined && 'command' in found && found.command.serves === true)
  }
}

/**
 * The number of words of a flag before the command: the flag itself, and its value if that is
 * separate.
 */
function flagLength([flag = '', next]: readonly string[]): number {
  if (flag.includes('=') || next === undefined) return 1
  const name = flag.replace(/^--/, '')
  if (isBoolean(name)) return next === 'true' || next === 'false' ? 2 : 1
  return name === 'home' || name === 'datadir' || isSettingKey(name) ? 2 : 1
}

/**
 * Finds the command that the first word names; `before` is the line before that word. Flags may
 * precede it.
 */
function find(before: string, commands: readonly (Command | CommandFamily)[], line: readonly string[]): Found {
  let at = 0
  while (line[at]?.startsWith('-') && !isHelpFlag(line[at] as string)) at += flagLength(line.slice(at))
  const [leading, [name, ...args]] = [line.slice(0, at), line.slice(at)]
  if (name === 'help' && args.length > 0) return find(before, commands, [...args, '--help'])
  if (name === undefined || name === 'help' || isHelpFlag(name)) {
    if (name === undefined && leading.length > 0) throw new UsageError(`a command is missing: ${commands.map((c) => c.name).join(', ')}`)
    const help = listHelp(
      before,
      commands.map((command) => [command.name, command.doc]),
    )
    return { help, code: name === undefined ? EXIT.usage : EXIT.done }
  }
  const command = commands.find((c) => c.name === name)
  if (command === undefined) {
    const names = commands.map((c) => c.name)
    throw unknownCommand(before, name, names)
  }
  const here = `${before} ${name}`
  if ('commands' in command) return find(here, command.commands, [...leading, ...args])
  const all = args.includes(HELP_ALL)
  if (all || args.some(isHelpFlag)) return { help: commandHelp(here, command, all), code: EXIT.done }
  return { command, args: [...leading, ...args] }
}

/** Kinds of failure that another start does not resolve. */
const CANNOT_START: readonly CoreErrorKind[] = [
  'config',
  'genesis',
  'home_damaged',
  'home_empty',
  'home_in_use',
  'home_incompatible',
  'home_not_empty',
]

function fail(e: unknown, terminal: Terminal, serves: boolean): number {
  if (e instanceof UsageError || e instanceof SettingError || e instanceof AuthFileError) {
    terminal.err(`error: ${e.message}\n`)
    return EXIT.usage
  }
  if (
    e instanceof CoreError ||
    e instanceof ListenError ||
    e instanceof ForkError ||
    e instanceof FollowError ||
    e instanceof HomeDeniedError ||
    e instanceof ConsensusError ||
    e instanceof StateFileError ||
    (e instanceof Error && 'code' in e && 'syscall' in e)
  ) {
    terminal.err(`error: ${e.message}\n`)
    return serves && e instanceof CoreError && CANNOT_START.includes(e.kind) ? EXIT.cannotStart : EXIT.failed
  }
  // A defect of this program: the stack is what its author needs.
  terminal.err(`error: ${e instanceof Error ? (e.stack ?? e.message) : String(e)}\n`)
  return EXIT.failed
}
