/** The directory of a source file for counts: `crates/evm`, `ts/rpc`, `test/unit`. */
export function directoryOf(file: string): string

/** Whether the texts of a source file may reach users: tests and benches print to their authors. */
export function hasUserTexts(file: string): boolean
