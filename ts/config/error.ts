// What is wrong with the settings that were given: everything at once, each with its place.

/** One thing that is wrong. */
export interface Problem {
  /**
   * The flag, variable or position in the file: `--evm.http_port`, `HEARTH_EVM_HTTP_PORT`,
   * `/h/config/node.toml:3:1`.
   */
  readonly where: string
  /** What is wrong and what would be right, as the rest of a sentence. */
  readonly message: string
}

/** Settings that cannot be used; lists every problem. */
export class SettingError extends Error {
  override name = 'SettingError'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    const lines = problems.map(({ where, message }) => `${where} ${message}`)
    super(lines.length === 1 ? lines[0] : `${lines.length} settings cannot be used:\n${lines.map((line) => `  ${line}`).join('\n')}`)
    this.problems = problems
  }
}
