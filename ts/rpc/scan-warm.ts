// Runs the pass over requests before the first payload of a consensus client comes. Otherwise V8
// optimizes the pass within the first payloads, which delays a fork choice by several milliseconds
// (`npm run bench -- engine`; `node --trace-opt` shows the times).
import { setImmediate as turn } from 'node:timers/promises'
import { scan } from './scan.ts'

/** Transactions of the text, about as many as a full block has, and the digits of each. */
const TRANSACTIONS = 800
const DIGITS = 220

/** Passes over it: V8 optimizes after about a third of them. */
const PASSES = 60

/** A request as engine_newPayloadV4 has it, as far as the pass sees. */
function payloadText(): string {
  const hash = `0x${'5a'.repeat(32)}`
  const transactions = Array.from({ length: TRANSACTIONS }, () => `0x${'0'.repeat(DIGITS)}`)
  const payload = { parentHash: hash, stateRoot: hash, blockNumber: '0x1', transactions, withdrawals: [] }
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'engine_newPayloadV4', params: [payload, [], hash, []] })
}

/** Passes over a text like that of a payload, one for each turn of the event loop. */
export async function warmScan(): Promise<void> {
  const text = payloadText()
  for (let i = 0; i < PASSES; i++) {
    scan(text, { requests: 1 })
    await turn()
  }
}
