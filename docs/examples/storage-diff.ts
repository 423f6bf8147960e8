// Which slots of a contract differ between two heights:
// `node storage-diff.js HOME ADDRESS BLOCK BLOCK [SLOTS]`. The slots are those that the contract
// has now, and the first ones, which may have been emptied.
import { openNode } from 'hearth'

const [home = 'chain', address = '', before = '0', after = 'latest', slots = '16'] = process.argv.slice(2)
if (!/^0x[0-9a-fA-F]{40}$/.test(address)) {
  console.error('usage: node storage-diff.js HOME ADDRESS BLOCK BLOCK [SLOTS]; ADDRESS is 0x and 40 hex digits')
  process.exit(2)
}
const contract = `0x${address.slice(2).toLowerCase()}` as const

await using node = await openNode({ home, readOnly: true })

const keys = new Set(Array.from({ length: Number(slots) }, (_, slot) => BigInt(slot)))
// A key of the storage rows is the address with the slot behind it.
for await (const { key } of node.kv.rows('storage', { prefix: contract, form: 'hex' })) {
  keys.add(BigInt(`0x${key.slice(contract.length)}`))
}

const all = [...keys].sort((a, b) => (a < b ? -1 : 1))
const [old, now] = await Promise.all([
  node.state(BigInt(before)).storage(contract, all),
  node.state(after === 'latest' ? 'latest' : BigInt(after)).storage(contract, all),
])
all.forEach((slot, i) => {
  if (old[i] !== now[i]) console.log(`${hex(slot)}: ${hex(old[i])} -> ${hex(now[i])}`)
})

function hex(value: bigint | undefined): string {
  return `0x${(value ?? 0n).toString(16)}`
}
