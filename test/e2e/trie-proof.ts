// Reads a value out of a proof of a Merkle Patricia trie (yellow paper, appendix D), each node
// checked against the hash above it.
import { fromRlp, type Hex, keccak256 } from 'viem'

type Node = Hex | Node[]

/** Nibbles of a path in compact form, and whether it ends in a leaf. */
function pathOf(compact: Hex): { readonly nibbles: string; readonly isLeaf: boolean } {
  const flag = Number.parseInt(compact[2] as string, 16)
  return { nibbles: compact.slice(flag % 2 === 1 ? 3 : 4), isLeaf: flag >= 2 }
}

/**
 * The RLP of what a trie has under a key; undefined where the proof shows that it has nothing.
 * Throws where a node is not the one that its parent names.
 */
export function proven(root: Hex, key: Hex, proof: readonly Hex[]): Hex | undefined {
  let rest = keccak256(key).slice(2)
  let next: Node = root
  for (let at = 0; ; ) {
    let node: Node = next
    if (typeof node === 'string') {
      const bytes = proof[at++]
      if (bytes === undefined || keccak256(bytes) !== node) throw new Error(`node ${at} of the proof is not ${node}`)
      node = fromRlp(bytes, 'hex') as Node
    }
    if (!Array.isArray(node)) throw new Error('a node is no list')
    if (node.length === 17) {
      next = node[Number.parseInt(rest[0] as string, 16)] as Node
      rest = rest.slice(1)
    } else {
      const { nibbles, isLeaf } = pathOf(node[0] as Hex)
      if (!rest.startsWith(nibbles)) return undefined
      rest = rest.slice(nibbles.length)
      next = node[1] as Node
      if (isLeaf) return rest === '' ? (next as Hex) : undefined
    }
    if (next === '0x') return undefined
  }
}
