// The demo of a development chain for tests of the explorer: its node, its pages, and transactions
// whose hashes are the same in every new chain.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { ROOT } from '../../native/setup/env.mjs'
import { freePort } from '../free-port.mjs'

/** How long the node may take until it has made the demo, in milliseconds. */
const WAIT_MS_MAX = 200_000

/** The transaction of the demo that fails in a nested call. */
export const FAILED = '0xf659398b4f415e9e7a05f676afbffb55906ca4a9d55f9e8dc9de49bbd5c88c0a'
/** The swap of the demo: nested calls and events. */
export const SWAP = '0x9e449f4edc0cfdba1268903c5a4225d9948132aa7192b9856670127acf11d95c'

/** Pages by name, with a selector of what each must show. */
export const PAGES = {
  home: ['/', '[data-testid=block-row]'],
  block: ['/block/10', '[data-testid=tx-row]'],
  failed: [`/tx/${FAILED}`, '[data-testid=failure-chain]'],
  calls: [`/tx/${SWAP}`, '[data-testid=frame-row]'],
  events: [`/tx/${SWAP}/events`, '[data-testid=event-row]'],
  balances: [`/tx/${SWAP}/balances`, '[data-testid=balance-row]'],
  state: [`/tx/${SWAP}/state`, '[data-testid=slot-row]'],
  flame: [`/tx/${SWAP}/flame`, '[data-testid=flame]'],
  storage: [`/tx/${SWAP}/storage`, '[data-testid=heat-row]'],
  steps: [`/tx/${SWAP}/steps?at=73`, '[data-testid=step-op]'],
  lines: [`/tx/${SWAP}/lines`, '[data-testid=give-artifacts]'],
  raw: [`/tx/${SWAP}/raw`, '[data-testid=raw]'],
  account: ['/address/0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '[data-testid=account-tx]'],
  contract: ['/address/0xdc64a140aa3e981100a9beca4e685f962f0cf6c9', '[data-testid=account-tx]'],
  call: [`/call?tx=${SWAP}`, '[data-testid=call-run]'],
  compare: [`/compare/${SWAP}/${FAILED}`, '[data-testid=compare-row]'],
  tracer: [`/tracer?tx=${SWAP}`, '.editor'],
  missing: [`/tx/0x${'12'.repeat(32)}`, '[data-testid=trouble]'],
}

/** Blocks of the demo. */
const BLOCKS = 13

/** A development node with the demo: its URL, and how it stops. */
export async function demoNode() {
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const flags = ['--demo', '--silent', `--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  const child = spawn(process.execPath, [path.join(ROOT, 'dist/cli/hearth.cjs'), 'dev', ...flags], { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
  /** @param {NodeJS.Signals} signal */
  const end = (signal) => {
    child.kill(signal)
    return ended
  }
  const url = `http://127.0.0.1:${port}`
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
  for (const until = Date.now() + WAIT_MS_MAX; Date.now() < until && child.exitCode === null && child.signalCode === null; ) {
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).catch(() => undefined)
    if (answer?.ok && Number.parseInt(/** @type {{ result: string }} */ (await answer.json()).result, 16) >= BLOCKS)
      return { url, pid: child.pid, stop: () => end('SIGTERM') }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`hearth dev --demo did not start: ${await end('SIGKILL')}`)
}
