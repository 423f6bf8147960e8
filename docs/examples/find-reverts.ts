// Transactions that reverted for a reason: `node find-reverts.js HOME WORDS [FROM [TO]]`.
import { type CallFrame, openNode } from 'hearth'

const [home = 'chain', words = '', from, to] = process.argv.slice(2)

await using node = await openNode({ home, readOnly: true })
const range = { ...(from === undefined ? {} : { from: BigInt(from) }), ...(to === undefined ? {} : { to: BigInt(to) }) }

for await (const receipt of node.receipts(range)) {
  if (receipt.status !== 'reverted') continue
  const frame = await node.trace(receipt.transactionHash, 'callTracer')
  const reason = deepest(frame)
  if (reason.includes(words)) console.log(`block ${receipt.blockNumber} ${receipt.transactionHash}: ${reason}`)
}

/** Why the innermost frame on the way of the failure failed. */
function deepest(frame: CallFrame): string {
  const failed = frame.calls?.findLast(({ error }) => error !== undefined)
  return (failed && deepest(failed)) || frame.revertReason || frame.error || ''
}
