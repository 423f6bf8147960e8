// New blocks of a running node with the calls of their transactions: `node live-tail.js ws://127.0.0.1:8546 [BLOCKS]`. The same actions trace
// over any transport of viem; `hearth(node)` of `hearth/viem` is the one without a socket.
import type { CallFrame } from 'hearth'
import { traceActions } from 'hearth/viem'
import { createPublicClient, webSocket } from 'viem'

const [url = 'ws://127.0.0.1:8546', blocks = 'Infinity'] = process.argv.slice(2)

const client = createPublicClient({ transport: webSocket(url) }).extend(traceActions)
let left = Number(blocks)
let told: Promise<void> = Promise.resolve()
const stop = client.watchBlockNumber({
  emitOnBegin: false,
  emitMissed: true,
  // One block after the other, however fast they come.
  onBlockNumber: (number) => {
    told = told.then(() => tell(number))
  },
})
console.log(`following ${url}`)

async function tell(number: bigint): Promise<void> {
  const traces = await client.traceBlock(number, 'callTracer')
  console.log(`block ${number}: ${traces.length} transactions`)
  for (const { txHash, result } of traces) console.log(`  ${txHash} ${result.type} ${result.to ?? ''} ${calls(result)} calls ${result.error ?? ''}`.trimEnd())
  if (--left > 0) return
  stop()
  const socket = await client.transport.getRpcClient()
  socket.close()
}

function calls(frame: CallFrame): number {
  return (frame.calls ?? []).reduce((sum, inner) => sum + 1 + calls(inner), 0)
}
