// Failed transactions of a chain, with the reason of each: `node failures.mjs HOME`.
import { openNode } from 'hearth'

const node = await openNode({ home: process.argv[2], readOnly: true })

for await (const receipt of node.receipts()) {
  if (receipt.status !== 'reverted') continue
  const frame = await node.trace(receipt.transactionHash, 'callTracer')
  console.log(`block ${receipt.blockNumber}: ${frame.revertReason ?? frame.error}`)
}

await node.close()
