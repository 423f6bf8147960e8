// Whether a home is that of a validator.
import fs from 'node:fs'
import { ConsensusError } from './error.ts'
import { engineFile } from './layout.ts'

/** Values of a file of JSON; undefined where there is none. Throws `ConsensusError` where it is no
 * JSON. */
function read(file: string): { readonly [name: string]: unknown } | undefined {
  let text: string
  try {
    text = fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  try {
    return JSON.parse(text) as { readonly [name: string]: unknown }
  } catch (e) {
    throw new ConsensusError(`${file} is no JSON: ${e instanceof Error ? e.message : String(e)}`)
  }
}

/** Whether the key of a home is one that its genesis lets vote. Throws `ConsensusError`. */
export function isGenesisValidator(home: string): boolean {
  const address = read(engineFile(home, 'validatorKey'))?.address
  const validators = read(engineFile(home, 'genesis'))?.validators
  if (typeof address !== 'string' || !Array.isArray(validators)) return false
  return validators.some((one: { readonly address?: unknown } | null) => one?.address === address)
}

/** Throws `ConsensusError` where a validator is to bake traces: each block would wait for work that
 * a follower can do. */
export function refuseBaking(home: string, isBaking: boolean): void {
  if (!isBaking || !isGenesisValidator(home)) return
  throw new ConsensusError(
    'evm.trace_bake_enabled is for followers: this node is a validator, and baking takes processor and disk from the blocks that it votes on. Set it to false here, and bake on a follower (`hearth init --cometbft --join URL`)',
  )
}
