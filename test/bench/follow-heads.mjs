// From a new head of the upstream to its first trace on the follower, beside the upstream's own
// witness and trace of the same block.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { engineClient, move, payloadsOf, place } from './engine.mjs'
import { follower, headOf, losing, now, pause, reached, TRACE } from './follow-process.mjs'
import { freePort, HEARTH, run, started } from './process.mjs'
import { ask, result } from './rpc.mjs'
import { median, spread } from './stats.mjs'

/** Blocks of a development chain that are waited for. */
const HEADS = 60

/** First heads of a process, which warm both sides up. */
const WARM = 8

/** Milliseconds between looks at the head of a follower. */
const LOOK_MS = 2

/** Milliseconds between a block's end on both sides and the next one. */
const BETWEEN_MS = 20

const PERCENTILE = 0.99
const p99 = (values) => [...values].sort((a, b) => a - b)[Math.ceil(values.length * PERCENTILE) - 1]
const words = (values) => `${p99(values).toFixed(1)}, ${spread(values)}`

/** Settings of a follower whose heads come by polling alone. */
const POLLED = ['--follow.poll_interval=50ms']

/**
 * Milliseconds from a head to its trace on a follower, and of the upstream's own witness and
 * trace. By the follower's own head: a block that it lacks is one of its upstream's answers.
 */
async function one(node, upstream, { number, hash }, witnessMethod) {
  const began = now()
  while ((await headOf(node.url)) < number) await pause(LOOK_MS)
  await ask(node.url, 'debug_traceBlockByHash', [hash, TRACE])
  const seen = now() - began
  const witness = await ask(upstream.url, witnessMethod, [hash])
  const trace = await ask(upstream.url, 'debug_traceBlockByHash', [hash, TRACE])
  return [seen, witness.ms + trace.ms]
}

/** The blocks of the generated chain, given to go-ethereum one by one by the Engine API. */
async function ofGeth(dir, payloads, genesis, isPolled) {
  const { dir: secrets, secret, jwt } = place('follow')
  const data = path.join(dir, `geth-heads-${isPolled}`)
  // The scheme of its state that gives witnesses of any block without harm (go-ethereum #33572).
  run('geth', ['--datadir', data, '--state.scheme', 'hash', '--verbosity', '1', 'init', genesis])
  const [port, ws, engine, p2p] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const listen = ['--http', '--http.port', port, '--http.api', 'eth,debug,net,web3', '--ws', '--ws.port', ws, '--ws.api', 'eth']
  const drive = ['--authrpc.port', engine, '--authrpc.jwtsecret', jwt, '--port', p2p, '--state.scheme', 'hash', '--gcmode', 'archive']
  const alone = ['--nodiscover', '--maxpeers', '0', '--nat', 'none', '--ipcdisable', '--syncmode', 'full', '--verbosity', '1']
  const geth = await started('geth', ['--datadir', data, ...listen, ...drive, ...alone].map(String), port)
  const engineOf = engineClient(`http://127.0.0.1:${engine}`, secret)
  const [seen, theirs] = [[], []]
  try {
    const give = async ({ params, hash }) => {
      const { result: given } = await engineOf('engine_newPayloadV4', ...params)
      if (given.status !== 'VALID') throw new Error(`a payload is ${given.status}`)
      await engineOf('engine_forkchoiceUpdatedV3', move(hash), null)
    }
    await give(payloads[0])
    const settings = isPolled ? POLLED : ['--upstream-ws', `ws://127.0.0.1:${ws}`]
    const node = await follower(path.join(dir, `of-geth-heads-${isPolled}`), geth.url, genesis, { settings })
    try {
      await reached(node.url, 1)
      for (const [i, payload] of payloads.slice(1).entries()) {
        await give(payload)
        const [ours, other] = await one(node, geth, payload, 'debug_executionWitnessByHash')
        if (i >= WARM) {
          seen.push(ours)
          theirs.push(other)
        }
        await pause(BETWEEN_MS)
      }
    } finally {
      await node.stop()
    }
  } finally {
    await geth.stop()
    fs.rmSync(secrets, { recursive: true, force: true })
  }
  return [seen, theirs]
}

/** Blocks of one transaction of a development chain. */
async function ofDev(dir, isPolled) {
  const home = path.join(dir, `dev-${isPolled}`)
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  const dev = await started(process.execPath, [HEARTH, 'dev', '--home', home, ...ports], port)
  const [seen, theirs] = [[], []]
  try {
    const [from, to] = await result(dev.url, 'eth_accounts', [])
    const send = async () => {
      const hash = await result(dev.url, 'eth_sendTransaction', [{ from, to, value: '0x1' }])
      const { blockNumber, blockHash } = await result(dev.url, 'eth_getTransactionReceipt', [hash])
      return { number: Number(blockNumber), hash: blockHash }
    }
    await send()
    const settings = isPolled ? POLLED : ['--upstream-ws', `ws://127.0.0.1:${ws}`]
    const genesis = path.join(home, 'config/genesis.json')
    const node = await follower(path.join(dir, `heads-${isPolled}`), dev.url, genesis, { settings })
    try {
      await reached(node.url, 1)
      for (let i = 0; i < HEADS + WARM; i++) {
        const [ours, other] = await one(node, dev, await send(), 'debug_executionWitnessByHash')
        if (i < WARM) continue
        seen.push(ours)
        theirs.push(other)
      }
    } finally {
      await node.stop()
    }
  } finally {
    await dev.stop()
  }
  return [seen, theirs]
}

/** The rows. */
export async function headRows(dir, chain, genesis) {
  const rows = []
  if (spawnSync('geth', ['version']).status === 0) {
    const payloads = await payloadsOf(chain, genesis)
    const gas = payloads.slice(WARM + 1).map(({ gas }) => gas / 1e6)
    for (const isPolled of [false, true]) {
      const [seen, theirs] = await ofGeth(dir, payloads, genesis, isPolled)
      const how = isPolled ? 'polled every 50 ms' : 'by subscription'
      rows.push([
        `a head of go-ethereum ${how}, ${median(gas).toFixed(0)} Mgas, to its trace; its witness and trace; p99, median (ms)`,
        words(seen),
        words(theirs),
        `p99 at most the other${isPolled ? ' and a poll' : ''}${losing(p99(seen) > p99(theirs) + (isPolled ? 50 : 0))}`,
      ])
    }
  } else console.log('skipped: geth is not on the PATH, so heads of large blocks are not followed')
  for (const isPolled of [false, true]) {
    const [seen, theirs] = await ofDev(dir, isPolled)
    const how = isPolled ? 'polled every 50 ms' : 'by subscription'
    rows.push([`a head of a development chain ${how}, one transfer, likewise (ms)`, words(seen), words(theirs), ''])
  }
  return rows
}
