// A worker that opens a home, counts its blocks in a loop, and reports its progress; or ends as the
// message says.

import { parentPort, workerData } from 'node:worker_threads'
import { openNode } from 'hearth'

const { home, task } = workerData
if (parentPort === null) throw new Error('this is a program of worker threads')
const port = parentPort
const node = await openNode({ home, mode: 'dev' })
port.postMessage({ opened: Number(node.height) })
if (task === 'count') {
  await new Promise((resolve) => port.once('message', resolve))
  const blocks = await node.blocks().toArray()
  port.postMessage({ blocks: blocks.length })
  await node.close()
}
if (task === 'die') {
  // Work in progress whose promises are never awaited.
  for (let i = 0; i < 50; i++) node.blocks({ full: true }).toArray()
  node.provider.request({ method: 'eth_subscribe', params: ['newHeads'] })
  for await (const _ of node.blocks({ follow: true }));
}
if (task === 'throw') throw new Error('a worker that fails')
