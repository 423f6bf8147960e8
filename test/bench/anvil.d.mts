/** Whether anvil of the right release is installed; says why where it is not. */
export function haveAnvil(): boolean

/** anvil with a recorded block as its head; its state file is written to `dir`. */
export function startAnvilOn(recorded: object, dir: string): Promise<{ readonly url: string; readonly stop: () => Promise<unknown> }>
