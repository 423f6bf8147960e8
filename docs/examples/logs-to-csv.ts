// Logs of a contract as CSV on standard output:
// `node logs-to-csv.js HOME [ADDRESS [TOPIC]] > logs.csv`. However many there are, a few batches
// are in memory.
import { once } from 'node:events'
import { type Hex, openNode } from 'hearth'

const [home = 'chain', address, topic] = process.argv.slice(2) as [string?, Hex?, Hex?]

await using node = await openNode({ home, readOnly: true })

await write('block,time,transaction,index,address,topics,data\n')
const filter = { ...(address === undefined ? {} : { address }), ...(topic === undefined ? {} : { topics: [topic] }) }
for await (const logs of node.logs(filter).batches()) {
  const lines = logs.map(({ blockNumber, blockTimestamp, transactionHash, logIndex, address, topics, data }) =>
    [blockNumber, blockTimestamp, transactionHash, logIndex, address, topics.join(' '), data].join(','),
  )
  await write(`${lines.join('\n')}\n`)
}

/** Waits where the reader is slower. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}
