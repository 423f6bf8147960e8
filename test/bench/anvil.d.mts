/** Whether anvil of the right release is installed; says why where it is not. */
export function haveAnvil(): boolean

/** The program. */
export const ANVIL: string

/** anvil with an empty chain and blocks of any gas. */
export function startAnvil(): Promise<{ readonly url: string; readonly pid: number; readonly stop: () => Promise<unknown> }>

/** anvil with a recorded block as its head; its state file is written to `dir`. */
export function startAnvilOn(recorded: object, dir: string): Promise<{ readonly url: string; readonly stop: () => Promise<unknown> }>
