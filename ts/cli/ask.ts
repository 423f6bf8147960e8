// Prompts at the terminal.

/**
 * Prompts for yes or no; only y and yes count as a yes. The end of the input is a no: at a
 * terminal, Ctrl-D and Ctrl-C.
 */
export async function askIn(question: string, input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input, output })
  // A question whose input ends is never settled (Node 20), or rejects (later releases). A last
  // line may come just before the end, and its answer is settled first.
  const ended = new Promise<string>((resolve) => terminal.once('close', () => setImmediate(resolve, '')))
  const answer = terminal.question(question).catch(() => '')
  try {
    return /^y(es)?$/i.test((await Promise.race([answer, ended])).trim())
  } finally {
    terminal.close()
  }
}
