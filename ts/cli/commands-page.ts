// The page docs/commands.md: every command, the exit codes, and the words of other programs that
// are accepted.
import type { Command } from './command.ts'
import { EXIT_TABLE } from './exit.ts'
import { exampleLines } from './help.ts'
import { COMMANDS } from './run.ts'
import { OTHER_COMMANDS, OTHER_FLAGS, SAME_FLAGS, SHORT_FLAGS } from './words.ts'

/** Text within a cell of a table. */
const cell = (text: string): string => text.replaceAll('|', '\\|')

const usage = (line: string, { files }: Command): string => `\`${line}${files === undefined ? '' : ` ${files.name}`}\``

/** Every command, as it is typed. */
const LINES: readonly (readonly [string, Command])[] = COMMANDS.flatMap((command) =>
  'commands' in command
    ? command.commands.map((sub) => [`hearth ${command.name} ${sub.name}`, sub] as const)
    : [[`hearth ${command.name}`, command] as const],
)

const commandRows = (): string[] => LINES.map(([line, of]) => `| ${cell(usage(line, of))} | ${cell(of.doc)} |`)

/** What commands print with `--json`. */
const reports = (): string[] =>
  LINES.flatMap(([line, { report }]) =>
    report === undefined ? [] : [`\`${line} --json\`:`, '', '```json', ...exampleLines(report), '```', '', ...report.notes, ''],
  )

const isSetting = (name: string): boolean => name.includes('.')

/** The page docs/commands.md. */
export function commandsPage(): string {
  const lines = [
    '# Commands',
    '',
    'Generated from `ts/cli` by `npm run docs`. `hearth COMMAND --help` prints the flags of a command and the few settings that it reads,',
    '`--help-all` every setting. A setting is a flag of every command: `--evm.http_port=8545`; one that is true or false may stand alone.',
    'The data directory (`--home DIR`, by default `~/.hearth`) holds one chain: its stores, its settings file and its genesis.',
    '',
    '| command | what it does |',
    '|---|---|',
    ...commandRows(),
    '',
    '## Reports as JSON',
    '',
    'What a command prints with `--json`; hex is shortened to `0x…`.',
    '',
    ...reports(),
    '## Exit codes',
    '',
    '| code | meaning |',
    '|---|---|',
    ...EXIT_TABLE.map(({ code, meaning }) => `| ${code} | ${meaning} |`),
    '',
    '## Words of geth, reth, anvil and hardhat',
    '',
    'These flags mean the same and are understood:',
    '',
    '| theirs | ours |',
    '|---|---|',
    ...Object.entries(SAME_FLAGS).map(
      ([theirs, ours]) => `| \`--${theirs}\` | \`--${ours}\`${isSetting(ours) || ours === 'home' ? '' : ' (`dev`)'} |`,
    ),
    ...Object.entries(SHORT_FLAGS).map(([theirs, ours]) => `| \`-${theirs}\` | \`--${ours}\`${ours === 'port' ? '' : ' (`dev`)'} |`),
    '',
    'These have no equal here; the program answers with what to use:',
    '',
    '| theirs | what to use |',
    '|---|---|',
    ...Object.entries(OTHER_FLAGS).map(([theirs, answer]) => `| \`--${theirs}\` | ${cell(answer)} |`),
    ...Object.entries(OTHER_COMMANDS).flatMap(([before, answers]) =>
      Object.entries(answers).map(([name, answer]) => `| \`${before} ${name}\` | ${cell(answer)} |`),
    ),
  ]
  return `${lines.join('\n')}\n`
}
