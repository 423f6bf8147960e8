// The steps of an orderly end.

/**
 * Runs steps one after the other, also behind one that fails. Rejects with the first failure;
 * `report` gets further ones.
 */
export async function eachStep(steps: readonly (() => unknown)[], report: (e: unknown) => void): Promise<void> {
  let first: { readonly failure: unknown } | undefined
  for (const step of steps) {
    try {
      await step()
    } catch (e) {
      if (first === undefined) first = { failure: e }
      else report(e)
    }
  }
  if (first !== undefined) throw first.failure
}
