// New blocks of a running node with the calls of their transactions:
// `node live-tail.js ws://127.0.0.1:8546 [BLOCKS]`. The same actions trace over any transport of
// viem; `hearth(node)` of `hearth/viem` is the one without a socket.
import type { CallFrame } from 'hearth'
import { traceActions } from 'hearth/viem'
import { createPublicClient, webSocket } from 'viem'

const [url = 'ws://127.0.0.1:8546', blocks = 'Infinity'] = process.argv.slice(2)

const client = createPublicClient({ transport: webSocket(url, { retryCount: 0, reconnect: false }) }).extend(traceActions)
// A port where no node listens is found out here, before anything is watched.
await client.getBlockNumber().catch(() => fail(`no node answers at ${url}`))

let left = Number(blocks)
let lastPrinted: Promise<void> = Promise.resolve()
const stop = client.watchBlockNumber({
  emitOnBegin: false,
  emitMissed: true,
  // One block after the other, however fast they come.
  onBlockNumber: (number) => {
    lastPrinted = lastPrinted.then(() => print(number))
  },
  onError: () => fail(`the connection to ${url} ended`),
})
console.log(`following ${url}`)

async function print(number: bigint): Promise<void> {
  const traces = await client.traceBlock(number, 'callTracer')
  console.log(`block ${number}: ${traces.length} transactions`)
  for (const { txHash, result, error } of traces) {
    const shown = result === undefined ? error : `${result.type} ${result.to ?? ''} ${calls(result)} calls ${result.error ?? ''}`
    console.log(`  ${txHash} ${shown}`.trimEnd())
  }
  if (--left > 0) return
  stop()
  const socket = await client.transport.getRpcClient()
  socket.close()
}

function calls(frame: CallFrame): number {
  return (frame.calls ?? []).reduce((sum, inner) => sum + 1 + calls(inner), 0)
}

function fail(why: string): never {
  console.error(`live-tail: ${why}`)
  process.exit(1)
}
