// Signatures of console.log of Hardhat's and Foundry's libraries by selector, computed when a
// selector is first looked for. Earlier versions of the library hashed `uint` in place of
// `uint256`.
import { AbiItem } from 'ox'

/** What the library has variants for, up to this many arguments. */
const TYPES = ['string', 'uint256', 'bool', 'address'] as const
const ARGUMENTS_MAX = 4

let known: ReadonlyMap<string, string> | undefined

function all(): Map<string, string> {
  const signatures = new Map<string, string>()
  const add = (types: string, hashed = types): void => {
    signatures.set(AbiItem.getSelector(`log(${hashed})`), `log(${types})`)
  }
  let lists: readonly (readonly string[])[] = [[]]
  for (let length = 1; length <= ARGUMENTS_MAX; length++) {
    lists = lists.flatMap((list) => TYPES.map((type) => [...list, type]))
    for (const list of lists) {
      const types = list.join(',')
      add(types)
      if (types.includes('uint256')) add(types, types.replaceAll('uint256', 'uint'))
    }
  }
  add('int256')
  add('int256', 'int')
  add('bytes')
  return signatures
}

/** The signature of console.log with a selector; undefined for any other. */
export function consoleSignature(selector: string): string | undefined {
  known ??= all()
  return known.get(selector)
}
