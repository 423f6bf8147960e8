// The common part of the overload bench and the soak: a node on a generated chain, the requests for
// it, and the two client processes.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from '../chain.mjs'
import { importChain, serveHearth } from '../process.mjs'
import { result } from '../rpc.mjs'

/** The chain: that of the bench of traces. */
const CHAIN = { blocks: 24, least: 200, most: 1400 }

/** Transactions of each block that are requested. */
const OF_A_BLOCK = 16

/**
 * A child process of this bench, once it is ready; `ask` sends a message and waits for the answer.
 */
async function child(name, ...args) {
  const process = fork(path.join(import.meta.dirname, name), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await once(process, 'message')
  return {
    pid: process.pid,
    send: (message) => process.send(message),
    async ask(message) {
      process.send(message)
      return (await once(process, 'message'))[0]
    },
    stop: () => process.disconnect(),
  }
}

/** A node with its requests and the client processes; `stop` ends all of them. */
export async function openOverload(settings = []) {
  const chain = await generatedChain(CHAIN)
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-overload-'))
  importChain(home, chain)
  const node = await serveHearth(home, settings)
  const blocks = Array.from({ length: chain.blocks }, (_, i) => `0x${(i + 1).toString(16)}`)
  const transactions = []
  for (const block of blocks) {
    const all = (await result(node.url, 'eth_getBlockByNumber', [block, false])).transactions
    const every = Math.max(1, Math.floor(all.length / OF_A_BLOCK))
    transactions.push(...all.filter((_, i) => i % every === 0).slice(0, OF_A_BLOCK))
  }
  const [pulse, callers] = [await child('pulse.mjs', node.url), await child('callers.mjs')]
  return {
    node,
    pulse,
    callers,
    work: (hostile, rate) => ({ url: node.url, transactions, blocks, hostile, rate }),
    async stop() {
      pulse.stop()
      callers.stop()
      await node.stop()
      fs.rmSync(home, { recursive: true, force: true })
    },
  }
}

/** The time that so many in a hundred do not exceed. */
export function percentile(times, percent) {
  const sorted = [...times].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}
