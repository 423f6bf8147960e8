// What a slot of storage is, out of the hashes that a transaction computed: Solidity puts mappings
// and arrays where keccak256 says
// (Solidity documentation, "Layout of State Variables in Storage").

/** Preimages by their hashes, both in hex of lower case, as keccak256PreimageTracer gives them. */
export type Preimages = ReadonlyMap<string, string>

/** Members of a struct, or elements of an array, that are looked for behind a hash. */
const OFFSET_MAX = 64n

/** Maximum depth of nested mappings. */
const NESTED_MAX = 8

/** Hex digits of a word. */
const WORD = 64

/** Slots from here on are hashes, and no place of a variable. */
const VARIABLES_MAX = 1n << 64n

const wordOf = (n: bigint): string => `0x${n.toString(16).padStart(WORD, '0')}`

/** A key of a mapping: an address, a number, or bytes. */
function keyText(word: string): string {
  const n = BigInt(`0x${word}`)
  if (n < VARIABLES_MAX) return n.toString()
  const address = word.slice(24)
  return n < 1n << 160n ? `0x${address}` : `0x${word.slice(0, 16)}…`
}

/** The hash that a slot lies at or right behind, with the distance. */
function hashBefore(slot: bigint, preimages: Preimages): { preimage: string; offset: bigint } | undefined {
  for (let offset = 0n; offset <= OFFSET_MAX && offset <= slot; offset++) {
    const preimage = preimages.get(wordOf(slot - offset))
    if (preimage !== undefined) return { preimage: preimage.slice(2), offset }
  }
  return undefined
}

/**
 * A slot by the variable's place: `slot 3[0xab…][7]`; undefined where no hash of the transaction
 * explains it.
 */
export function namedSlot(slot: string, preimages: Preimages): string | undefined {
  let keys = ''
  let at = BigInt(slot)
  for (let depth = 0; depth <= NESTED_MAX; depth++) {
    if (at < VARIABLES_MAX) return depth === 0 ? undefined : `slot ${at}${keys}`
    const found = hashBefore(at, preimages)
    if (found === undefined) return undefined
    const { preimage, offset } = found
    const behind = offset === 0n ? '' : ` + ${offset}`
    if (preimage.length === 2 * WORD) {
      keys = `[${keyText(preimage.slice(0, WORD))}]${behind}${keys}`
      at = BigInt(`0x${preimage.slice(WORD)}`)
    } else if (preimage.length === WORD) {
      keys = `[${offset}]${keys}`
      at = BigInt(`0x${preimage}`)
    } else return undefined
  }
  return undefined
}
