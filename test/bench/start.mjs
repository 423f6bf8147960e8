// How long the program takes to start: commands that only print, the first answer of a development
// chain beside a bare node:http, and the first trace under a script after the start.
import { spawn, spawnSync } from 'node:child_process'
import { Connection, call, devNode } from './dev-nodes.mjs'
import { environment, freePort, HEARTH } from './process.mjs'
import { median, spread, table } from './stats.mjs'

/** Pairs of each row. */
const ROUNDS = Number(process.env.START_ROUNDS ?? 15)

/** Pairs of the row with a script, each of which starts a node. */
const SCRIPT_ROUNDS = Math.ceil(ROUNDS / 3)

/** Between the first answer of a node and the request with a script, in milliseconds. */
const PAUSE_MS = 2_000

/** Between two attempts to reach a server that starts, in milliseconds. */
const LOOK_MS = 1

const START_MS_MAX = 60_000

/** What a printing command may take: that of an empty program by this factor, and milliseconds. */
const PRINTING = { factor: 1.1, ms: 30 }

/** The first answer of a chain may take so many times that of the bare server. */
const FIRST_ANSWER_FACTOR = 1.25

/** The first trace under a script, in milliseconds. */
const SCRIPT_MS = 120

/** The smallest server in the same Node: what any program in Node takes to a first answer. */
const BARE = `require('node:http').createServer((request, response) => response.end('{"result":1}')).listen(Number(process.argv[1]), '127.0.0.1')`

const TRACER = '{count:0,step:function(){this.count++},fault:function(){},result:function(){return this.count}}'

/** Milliseconds until a program has ended. */
function endMs(args) {
  const began = performance.now()
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore', env: environment() })
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
  return performance.now() - began
}

/** Milliseconds from the start of a program until it has answered on a port. */
export async function answerMs(args, port) {
  const began = performance.now()
  const child = spawn(process.execPath, args, { stdio: 'ignore', env: environment() })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  const question = call(url, 'eth_blockNumber', [])
  try {
    for (;;) {
      const answer = await Connection.open(url).then(
        (connection) => connection.ask(question).finally(() => connection.close()),
        () => undefined,
      )
      if (answer?.includes('"result"')) return performance.now() - began
      if (performance.now() - began > START_MS_MAX || child.exitCode !== null) throw new Error(`node ${args[0]} does not answer`)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

/** The command line of a development chain on a port. */
export async function devArgs(port) {
  return [HEARTH, 'dev', `--evm.http_port=${port}`, `--evm.ws_port=${await freePort()}`, `--metrics.port=${await freePort()}`]
}

/** Milliseconds of the first trace under a script, a while after the start. */
async function scriptMs() {
  const node = await devNode('hearth')
  try {
    const connection = await Connection.open(node.url)
    const ask = async (method, params) => JSON.parse(await connection.ask(call(node.url, method, params)))
    const [from, to] = (await ask('eth_accounts', [])).result
    const { result: hash } = await ask('eth_sendTransaction', [{ from, to, value: '0x1' }])
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    const began = performance.now()
    const { result } = await ask('debug_traceTransaction', [hash, { tracer: TRACER }])
    const ms = performance.now() - began
    if (result !== 0) throw new Error(`the tracer counted ${result} steps of a transfer`)
    connection.close()
    return ms
  } finally {
    await node.stop()
  }
}

/** Measures both sides in turns; the order changes from round to round. */
async function pairs(rounds, ours, theirs) {
  const measured = { ours: [], theirs: [] }
  for (let round = 0; round < rounds; round++) {
    const turns = [
      ['ours', ours],
      ['theirs', theirs],
    ]
    for (const [side, measure] of round % 2 === 0 ? turns : turns.reverse()) measured[side].push(await measure())
  }
  return measured
}

/** What is wanted, and whether the milliseconds are more. */
const goal = (ms, wanted) => `${wanted.toFixed(0)}${ms > wanted ? '  NOT reached' : ''}`

function row(name, { ours, theirs }, wanted) {
  const ms = median(ours)
  return [name, spread(ours, 0), spread(theirs, 0), (ms / median(theirs)).toFixed(2), goal(ms, wanted(median(theirs)))]
}

/** The bench behind `npm run bench -- start`. */
export async function startBench() {
  const rows = []
  for (const flag of ['--version', '--help']) {
    const measured = await pairs(
      ROUNDS,
      () => endMs([HEARTH, flag]),
      () => endMs(['-e', '0']),
    )
    rows.push(row(`hearth ${flag}, beside node -e 0 (ms)`, measured, (theirs) => theirs * PRINTING.factor + PRINTING.ms))
  }
  const answers = await pairs(
    ROUNDS,
    async () => {
      const port = await freePort()
      return answerMs(await devArgs(port), port)
    },
    async () => {
      const port = await freePort()
      return answerMs(['-e', BARE, String(port)], port)
    },
  )
  rows.push(row('first answer of hearth dev, beside node:http (ms)', answers, (theirs) => theirs * FIRST_ANSWER_FACTOR))
  const scripts = []
  for (let round = 0; round < SCRIPT_ROUNDS; round++) scripts.push(await scriptMs())
  rows.push([
    `first trace under a script, ${PAUSE_MS / 1000} s after the start (ms)`,
    spread(scripts, 0),
    '',
    '',
    goal(median(scripts), SCRIPT_MS),
  ])
  table('start', ['row', 'hearth', 'other', 'hearth over other', 'wanted of hearth'], rows)
}
