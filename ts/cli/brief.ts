// What needs none of the program: the version and the list of commands. They are printed before the
// program is loaded, which takes longer than all the rest of such a run.
import { clientVersion } from '../node/version.ts'
import { listHelp } from './columns.ts'
import { COMMAND_DOCS } from './command-docs.ts'
import { EXIT } from './exit.ts'

const VERSION_WORDS: readonly (string | undefined)[] = ['--version', '-v', 'version']
const HELP_WORDS: readonly (string | undefined)[] = ['--help', '-h', 'help']

/** What a run prints, and its exit code. */
export interface Brief {
  readonly text: string
  readonly code: number
}

/** What a run prints that needs the version or the list of commands alone; undefined for others. */
export function brief(argv: readonly string[]): Brief | undefined {
  if (VERSION_WORDS.includes(argv[0])) return { text: `${clientVersion()}\n`, code: EXIT.done }
  if (argv.length > 1 || (argv.length === 1 && !HELP_WORDS.includes(argv[0]))) return undefined
  return { text: listHelp('hearth', Object.entries(COMMAND_DOCS)), code: argv.length === 0 ? EXIT.usage : EXIT.done }
}
