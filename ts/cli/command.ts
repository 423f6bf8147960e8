// What a command is.
import type { SettingKey } from '../config/index.ts'
import type { CommandShape, Parsed } from './args.ts'

/**
 * The output of a command. Results go to standard output, progress and errors to standard error.
 */
export interface Terminal {
  readonly out: (text: string) => void
  /** Bytes to standard output; resolves when it takes more. */
  readonly write: (bytes: Uint8Array) => Promise<void>
  readonly err: (text: string) => void
  /** Whether standard error is a terminal: progress is a bar there, lines elsewhere. */
  readonly interactive: boolean
  /** Width of standard output in characters; absent if it is no terminal. */
  readonly columns?: number | undefined
  /** Prompts for yes or no; absent if there is no terminal. */
  readonly ask?: ((question: string) => Promise<boolean>) | undefined
  /** Called before a node is started: from now on, lost readers of its output do not end it. */
  readonly serving?: () => void
  /** Called once a node has closed all that it owns, or has failed: the process may end. */
  readonly closed?: () => void
}

/** What a command prints with `--json`. */
export interface JsonReport {
  /** One as an example: hex stands as `0x…`. */
  readonly example: object
  /** What the example does not say, in lines as `more`. */
  readonly notes: readonly string[]
}

/** A command of `hearth`. */
export interface Command extends CommandShape {
  readonly name: string
  /** One line for the list of commands. */
  readonly doc: string
  /** Lines for the command's own help, below `doc`. */
  readonly more?: readonly string[]
  /** The report of `--json`, where help and docs/commands.md show it. */
  readonly report?: JsonReport
  /** The few settings that the command reads and people change; its help names them. */
  readonly settings?: readonly SettingKey[]
  /** Whether it serves a data directory: permanent failures to do so have their own exit code. */
  readonly serves?: true
  /** Resolves to the exit code. */
  readonly run: (parsed: Parsed, terminal: Terminal) => Promise<number>
}

/** Commands under one word: `hearth db ls`. */
export interface CommandFamily {
  readonly name: string
  /** One line for the list of commands. */
  readonly doc: string
  readonly commands: readonly Command[]
}
