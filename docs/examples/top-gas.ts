// Who used the most gas: `node top-gas.js HOME [FROM [TO]]`. Reads beside a running node too, up to
// its newest snapshot.
import { openNode } from 'hearth'

const [home = 'chain', from = 'earliest', to = 'latest'] = process.argv.slice(2)
const SHOWN = 10

await using node = await openNode({ home, readOnly: true })
if (node.snapshot !== undefined) console.log(`a node runs on this home: this is its snapshot of block ${node.snapshot}`)

const used = new Map<string, bigint>()
for await (const receipt of node.receipts({ from: place(from), to: place(to) })) {
  used.set(receipt.from, (used.get(receipt.from) ?? 0n) + receipt.gasUsed)
}
const top = [...used].sort(([, a], [, b]) => (b > a ? 1 : b < a ? -1 : 0)).slice(0, SHOWN)
for (const [address, gas] of top) console.log(`${address} ${gas}`)

function place(text: string): bigint | 'earliest' | 'latest' {
  return text === 'earliest' || text === 'latest' ? text : BigInt(text)
}
