// A network whose genesis sets `bft.commitment` to `lthash`, under the real CometBFT: transactions,
// kills, a rollback, state sync and an import by its rules. One validator; in the full run four and
// a follower.
import fs from 'node:fs'
import path from 'node:path'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cometbftProgram, VERSIONS } from '../cometbft-programs.mjs'
import { hearth, rpc, tempHome } from './harness.ts'
import { makeNetwork, NetworkNode, sameBlocks, transfer } from './network-nodes.ts'
import { basePort } from './network-ports.ts'
import { until } from './waiting.ts'

const CHAIN = 7357

const IS_FULL = process.env.HEARTH_TEST === 'full'

/** Validators and followers. */
const [VALIDATORS, FOLLOWERS] = IS_FULL ? [4, 1] : [1, 1]

const BASE_PORT = basePort('cometbftLthash')

const [version] = IS_FULL ? VERSIONS.slice(-1) : VERSIONS
const found = await cometbftProgram(version)
if ('missing' in found) console.log(`skipped: a network with bft.commitment lthash: ${found.missing}`)

const NO_TRIE = 'there is no state trie: the genesis sets bft.commitment to lthash, a checksum of the state that proves no account'

const SINK = `0x${'ee'.repeat(20)}`

describe.skipIf('missing' in found)('a network with bft.commitment lthash', () => {
  const program = (found as { program: string }).program
  const dir = tempHome()
  let nodes: NetworkNode[] = []
  let joined: NetworkNode | undefined
  afterAll(async () => {
    await Promise.all([...nodes, ...(joined ? [joined] : [])].map((node) => node.end('SIGKILL')))
    fs.rmSync(dir, { recursive: true, force: true })
  })

  const first = (): NetworkNode => nodes[0] as NetworkNode
  const follower = (): NetworkNode => nodes.at(-1) as NetworkNode

  beforeAll(async () => {
    const of = ['--validators', String(VALIDATORS), '--followers', String(FOLLOWERS)]
    const args = [...of, '--chain-id', String(CHAIN), '--dev-accounts', '5', '--commitment', 'lthash']
    nodes = makeNetwork(path.join(dir, 'net'), program, BASE_PORT, args, [
      '--consensus.timeout_commit=200ms',
      '--consensus.snapshot_interval_blocks=20',
    ])
    for (const node of nodes) node.start()
    await Promise.all(nodes.map((node) => node.reaches(2)))
  })

  it('refuses a commitment that it does not know', () => {
    const made = hearth(['init', '--cometbft', '--home', path.join(dir, 'other'), '--commitment', 'iavl'])
    expect([made.status, made.stderr]).toEqual([2, expect.stringContaining('--commitment takes mpt or lthash, not "iavl"')])
  })

  it('executes transactions to the same blocks on all nodes', async () => {
    const genesis = JSON.parse(fs.readFileSync(path.join(first().home, 'config/genesis.json'), 'utf8')) as { config: { bft: unknown } }
    expect(genesis.config.bft).toEqual({ engine: 'cometbft', commitment: 'lthash' })
    const hashes = await Promise.all(nodes.map(async (node, i) => node.ask<Hex>('eth_sendRawTransaction', await transfer(CHAIN, i, 0))))
    const places = await Promise.all(nodes.map((node) => Promise.all(hashes.map((hash) => node.receipt(hash)))))
    expect(new Set(places.map(String)).size).toBe(1)
    const last = Math.max(...(places[0] as number[]))
    await sameBlocks(nodes, 0, last + 1)
    for (const node of nodes) expect(Number(await node.ask('eth_getBalance', SINK, 'latest'))).toBe(nodes.length)
    // The app hash is the hash of the block, whose state root is the checksum.
    const { block } = await first().comets<{ block: { header: { app_hash: string } } }>(`block?height=${last + 1}`)
    expect(`0x${block.header.app_hash.toLowerCase()}`).toBe((await first().block(last)).hash)
    expect(await follower().ask('debug_traceTransaction', hashes[0], { tracer: 'callTracer' })).toMatchObject({ value: '0x1' })
  })

  it('refuses proofs and roots with the reason', async () => {
    const { hash } = await first().block('latest')
    for (const [method, params] of [
      ['eth_getProof', [SINK, [], 'latest']],
      ['debug_intermediateRoots', [hash]],
    ] as const) {
      const { error } = await rpc(first().url, method, [...params])
      expect([method, error?.message]).toEqual([method, NO_TRIE])
    }
    const [simulated] = await first().ask<{ stateRoot: Hex }[]>('eth_simulateV1', { blockStateCalls: [{}] }, 'latest')
    expect(simulated?.stateRoot).toMatch(/^0x[0-9a-f]{64}$/)
  })

  it('continues after kills with the same blocks', async () => {
    for (const node of IS_FULL ? nodes : [first()]) {
      const height = await node.height()
      await node.end('SIGKILL')
      node.start()
      await node.reaches(height + 2)
    }
    await sameBlocks(nodes, 0, await first().height())
  })

  it('rolls back, and CometBFT replays to the same blocks', async () => {
    const [head, before] = [await follower().height(), await follower().block('latest')]
    expect(await follower().end()).toBe(0)
    const back = hearth(['db', 'rollback', '--home', follower().home, '--to', String(head - 3), '--yes'])
    expect(back.status, back.stderr).toBe(0)
    const verified = hearth(['db', 'verify', '--home', follower().home])
    expect(verified.status, verified.stderr + verified.stdout).toBe(0)
    follower().start()
    await follower().reaches(head + 1)
    expect((await follower().block(Number(before.number))).hash).toBe(before.hash)
  })

  it('gives its state to a node that joins', async () => {
    await first().reaches(42)
    // The light client of the joining node waits 30 s for a witness that is behind.
    await follower().reaches(await first().height())
    const trusted = await first().comets<{ signed_header: { commit: { block_id: { hash: string } } } }>('commit?height=5')
    const home = path.join(dir, 'joined')
    const trust = ['--trust-height', '5', '--trust-hash', trusted.signed_header.commit.block_id.hash]
    const made = hearth(['init', '--cometbft', '--home', home, '--join', `${first().comet},${follower().comet}`, ...trust])
    expect(made.status, made.stderr).toBe(0)
    const port = BASE_PORT + 100
    const listen = {
      'evm.http_port': 0,
      'evm.ws_port': 1,
      'consensus.rpc_port': 2,
      'consensus.p2p_port': 3,
      'grpc.port': 4,
      'rest.port': 5,
    }
    const flags = Object.entries(listen).map(([name, at]) => `--${name}=${port + at}`)
    joined = new NetworkNode('joined', home, { http: port, rpc: port + 2 }, [
      `--consensus.cometbft_bin=${program}`,
      ...flags,
      '--metrics.enabled=false',
    ])
    joined.start()
    const node = joined
    await until(
      () => `it follows:\n${node.log.slice(-3000)}`,
      async () => (await node.height().catch(() => 0)) > 41,
      100,
    )
    const height = await node.height()
    await sameBlocks([first(), node], height, height + 1)
    expect(Number(await node.ask('eth_getBalance', SINK, 'latest'))).toBe(nodes.length)
    await expect(node.block(1)).rejects.toThrow(/before the first block/)
    expect(await node.end()).toBe(0)
  })

  it('exports a chain that another home imports by its rules', async () => {
    expect(await first().end()).toBe(0)
    const [file, again, home] = ['chain.rlp', 'again.rlp', 'imported'].map((name) => path.join(dir, name)) as [string, string, string]
    expect(hearth(['export', '--home', first().home, file]).status).toBe(0)
    const imported = hearth(['import', '--home', home, '--genesis', path.join(first().home, 'config/genesis.json'), file])
    expect(imported.status, imported.stderr).toBe(0)
    expect(hearth(['export', '--home', home, again]).status).toBe(0)
    expect(fs.readFileSync(again).equals(fs.readFileSync(file))).toBe(true)
  })
})
