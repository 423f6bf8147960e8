// State sync under CometBFT beside `hearth db import` of the same state: from the snapshot that a
// node accepts to the state that it begins with, discovery of peers not counted.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { cometbftProgram } from '../cometbft-programs.mjs'
import { comet, end, heightOf, until } from './network.mjs'
import { freePort, HEARTH, run } from './process.mjs'
import { median, spread, table } from './stats.mjs'

const VERSION = '0.38.26'
const CHAIN = 7357

/** Nodes that join, and imports, in turn. */
const ROUNDS = Number(process.env.HEARTH_TEST_NETWORK_ROUNDS ?? 3)

/** Accounts of the genesis, and contracts with the slots of each: CometBFT's RPC gives a genesis of
 * up to 16 MiB in one piece. */
const [ACCOUNTS, CONTRACTS, SLOTS] = [40_000, 200, 200]

/** Height of the header that joining nodes trust, and the height from which they join. */
const [TRUSTED, JOINED_FROM] = [5, 25]

/** What the issue of networks wants. */
const WANTED = 2

const hearth = (...args) => run(process.execPath, [HEARTH, ...args].map(String))

const hex = (n, digits) => `0x${n.toString(16).padStart(digits, '0')}`

/** A genesis for a network, with many accounts and slots. */
function genesisFile(dir) {
  const seed = path.join(dir, 'seed')
  hearth('init', '--cometbft', '--home', seed, '--chain-id', CHAIN)
  const genesis = JSON.parse(fs.readFileSync(path.join(seed, 'config/genesis.json'), 'utf8'))
  // The network gets validators of its own.
  delete genesis.alloc['0x0000000000000000000000000000000000000800']
  for (let i = 0; i < ACCOUNTS; i++) genesis.alloc[hex(BigInt(i + 1) << 96n, 40)] = { balance: '0xde0b6b3a7640000' }
  for (let i = 0; i < CONTRACTS; i++) {
    const slots = Array.from({ length: SLOTS }, (_, slot) => [hex(slot, 64), hex(slot * 7919 + 1, 64)])
    genesis.alloc[hex((BigInt(i + 1) << 96n) + 1n, 40)] = { balance: '0x0', code: '0x5f5ff3', storage: Object.fromEntries(slots) }
  }
  const file = path.join(dir, 'genesis.json')
  fs.writeFileSync(file, JSON.stringify(genesis))
  return file
}

/** Starts a node whose log is read; `lines` is called with each line. */
function start(home, flags, lines = (_line) => {}) {
  const child = spawn(process.execPath, [HEARTH, 'start', '--home', home, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', lines)
  return child
}

/** Time of a line of the log, in milliseconds. */
const timeOf = (line) => Date.parse(JSON.parse(line).time)

/** Seconds of a join, between two lines of the log. */
async function join(dir, round, rpcs, hash, program) {
  const home = path.join(dir, `joined${round}`)
  const urls = rpcs.map((port) => `http://127.0.0.1:${port}`).join(',')
  hearth('init', '--cometbft', '--home', home, '--join', urls, '--trust-height', TRUSTED, '--trust-hash', hash)
  const settings = ['evm.http_port', 'evm.ws_port', 'consensus.rpc_port', 'consensus.p2p_port', 'grpc.port', 'rest.port']
  const ports = await Promise.all(settings.map(freePort))
  const flags = settings.map((name, i) => `--${name}=${ports[i]}`)
  let began
  let seconds
  let log = ''
  const child = start(home, [...flags, `--consensus.cometbft_bin=${program}`, '--metrics.enabled=false', '--log.format=json'], (line) => {
    log = `${log}\n${line}`.slice(-2000)
    // The core's lines are written some time after the events, with the times of those.
    if (line.includes('a snapshot of a peer is fetched')) began = timeOf(line)
    if (line.includes("the state of a peer's snapshot is here")) seconds ??= (timeOf(line) - began) / 1000
  })
  try {
    await until('state sync', async () => seconds !== undefined, 120_000).catch((e) => {
      throw new Error(`${e.message}:\n${log}`)
    })
    await until('the head', async () => (await heightOf(ports[2])) >= JOINED_FROM)
    return seconds
  } finally {
    await end([child])
  }
}

/** Seconds of a command. */
function timed(...args) {
  const began = performance.now()
  hearth(...args)
  return (performance.now() - began) / 1000
}

/** The row of state sync. */
export async function stateSyncBench() {
  const found = await cometbftProgram(VERSION)
  if ('missing' in found) return
  const { program } = found
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-state-sync-'))
  const children = []
  try {
    const net = path.join(dir, 'net')
    const base = ((await freePort()) % 20_000) + 10_000
    hearth('testnet', '--dir', net, '--validators', 2, '--base-port', base, '--genesis', genesisFile(dir))
    const { nodes } = JSON.parse(fs.readFileSync(path.join(net, 'testnet.json'), 'utf8'))
    const quick = [`--consensus.cometbft_bin=${program}`, '--consensus.timeout_commit=300ms', '--consensus.snapshot_interval_blocks=10']
    for (const { home } of nodes) children.push(start(home, quick))
    const rpcs = nodes.map(({ ports }) => ports.rpc)
    await until('blocks with snapshots', async () => (await heightOf(rpcs[0])) > JOINED_FROM, 120_000)
    const { hash } = (await comet(rpcs[0], 'commit', { height: String(TRUSTED) })).signed_header.commit.block_id
    const joins = []
    for (let round = 0; round < ROUNDS; round++) joins.push(await join(dir, round, rpcs, hash, program))
    await end(children.splice(0))
    const stream = path.join(dir, 'state')
    hearth('db', 'export', '--home', nodes[0].home, stream)
    const imports = []
    for (let round = 0; round < ROUNDS; round++) {
      // Without the start of the program, which a node that runs does not have either.
      const startup = timed('--version')
      imports.push(timed('db', 'import', '--home', path.join(dir, `imported${round}`), stream) - startup)
    }
    const ratios = joins.map((seconds, i) => seconds / imports[i])
    const isLosing = median(ratios) > WANTED
    const rows = [
      [
        `state sync beside hearth db import: ${ACCOUNTS + CONTRACTS} accounts, ${CONTRACTS * SLOTS} slots (s)`,
        spread(joins, 2),
        spread(imports, 2),
        `${spread(ratios, 2)} times, at most ${WANTED}${isLosing ? '  LOSING' : ''}`,
      ],
    ]
    table('network', ['row', 'state sync', 'db import', 'wanted'], rows, 'state sync')
  } finally {
    await end(children)
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
