// Finds the command, runs it, and turns failures into one clear paragraph and an exit code.
import { SettingError } from '../config/index.ts'
import { CoreError } from '../core/error.ts'
import { ForkError } from '../fork/index.ts'
import { AuthFileError } from '../server/admission/auth.ts'
import { ListenError } from '../server/listener.ts'
import { parseArgs, UsageError, unknownCommand } from './args.ts'
import type { Command, CommandFamily, Terminal } from './command.ts'
import { backup } from './commands/backup.ts'
import { bake } from './commands/bake.ts'
import { config } from './commands/config.ts'
import { db } from './commands/db/index.ts'
import { dev } from './commands/dev.ts'
import { exportCommand } from './commands/export.ts'
import { importCommand } from './commands/import.ts'
import { init } from './commands/init.ts'
import { replay } from './commands/replay.ts'
import { start } from './commands/start.ts'
import { status } from './commands/status.ts'
import { commandHelp, listHelp } from './help.ts'
import { HomeDeniedError } from './home-lock.ts'
import { clientVersion } from './version.ts'

/** Every command. */
export const COMMANDS: readonly (Command | CommandFamily)[] = [
  init,
  start,
  dev,
  status,
  importCommand,
  exportCommand,
  replay,
  bake,
  db,
  backup,
  config,
]

/** Exit codes: the work failed; the command line does not read. */
const FAILED = 1
const USAGE = 2

const isHelpFlag = (arg: string): boolean => arg === '--help' || arg === '-h'

/** Runs a command line without the program's name; resolves to the exit code. */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    if (argv[0] === '--version' || argv[0] === '-v') {
      terminal.out(`${clientVersion()}\n`)
      return 0
    }
    return await runOf('hearth', COMMANDS, argv, terminal)
  } catch (e) {
    return fail(e, terminal)
  }
}

/** Runs the command that the first word names; `before` is what stands before it on the line. */
async function runOf(
  before: string,
  commands: readonly (Command | CommandFamily)[],
  [name, ...args]: readonly string[],
  terminal: Terminal,
): Promise<number> {
  if (name === undefined || name === 'help' || isHelpFlag(name)) {
    terminal.out(listHelp(before, commands))
    return name === undefined ? USAGE : 0
  }
  const command = commands.find((c) => c.name === name)
  if (command === undefined) {
    const names = commands.map((c) => c.name)
    throw unknownCommand(name, names)
  }
  const line = `${before} ${name}`
  if ('commands' in command) return await runOf(line, command.commands, args, terminal)
  if (args.some(isHelpFlag)) {
    terminal.out(commandHelp(line, command))
    return 0
  }
  return await command.run(parseArgs(args, command), terminal)
}

function fail(e: unknown, terminal: Terminal): number {
  if (e instanceof UsageError || e instanceof SettingError || e instanceof AuthFileError) {
    terminal.err(`error: ${e.message}\n`)
    return USAGE
  }
  if (
    e instanceof CoreError ||
    e instanceof ListenError ||
    e instanceof ForkError ||
    e instanceof HomeDeniedError ||
    (e instanceof Error && 'code' in e && 'syscall' in e)
  ) {
    terminal.err(`error: ${e.message}\n`)
    return FAILED
  }
  // A defect of this program: the stack is what its author needs.
  terminal.err(`error: ${e instanceof Error ? (e.stack ?? e.message) : String(e)}\n`)
  return FAILED
}
