// Hearth under the real CometBFT: a validator through its life and its deaths, a network with a
// follower, a chain that becomes a network.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { type Hex, keccak256 } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cometbftProgram, VERSIONS } from '../cometbft-programs.mjs'
import { hearth, rpc, startNode, tempHome } from './harness.ts'
import { makeNetwork, NetworkNode, sameBlocks, transfer } from './network-nodes.ts'
import { basePort } from './network-ports.ts'
import { sleep, until } from './waiting.ts'

const CHAIN = 7357

/** The quicker version always, the other one in the full run. */
const TESTED = process.env.HEARTH_TEST === 'full' ? VERSIONS : VERSIONS.slice(0, 1)

/** First ports: one range for each version, below those that the system gives away, and another
 * one in each process. */
const PORTS_A_VERSION = 300
const BASE_PORT = basePort('cometbft')

/** Blocks come quickly, so that the tests take little time. */
const QUICK = ['--consensus.timeout_commit=100ms']

/** How long a start that must fail may take, in milliseconds. */
const REFUSED_MS_MAX = 60_000

const ZERO = `0x${'0'.repeat(64)}`

const programs = await Promise.all(TESTED.map(async (version) => ({ version, ...(await cometbftProgram(version)) })))
for (const program of programs) if ('missing' in program) console.log(`skipped: CometBFT ${program.version}: ${program.missing}`)

/** A block of CometBFT, as far as tests look into it. */
interface CometBlock {
  readonly block_id: { readonly hash: string }
  readonly block: { readonly header: { readonly app_hash: string }; readonly data: { readonly txs: readonly string[] } }
}

const lower = (hash: string): string => `0x${hash.toLowerCase()}`

describe.each(programs.filter((one) => 'program' in one))('CometBFT $version', ({ version, program }) => {
  const dir = tempHome()
  const base = BASE_PORT + PORTS_A_VERSION * VERSIONS.indexOf(version)
  const running = new Set<NetworkNode>()
  const started = (node: NetworkNode, more: readonly string[] = []): NetworkNode => {
    node.start(more)
    running.add(node)
    return node
  }
  afterAll(async () => {
    await Promise.all([...running].map((node) => node.end('SIGKILL')))
    fs.rmSync(dir, { recursive: true, force: true })
  })

  describe('a validator', () => {
    const home = path.join(dir, 'one')
    const file = (name: string): string => path.join(home, 'cometbft', name)
    const node = new NetworkNode('validator', home, { http: base, rpc: base + 2 }, [
      `--consensus.cometbft_bin=${program}`,
      ...QUICK,
      `--evm.http_port=${base}`,
      `--evm.ws_port=${base + 1}`,
      `--consensus.rpc_port=${base + 2}`,
      `--consensus.p2p_port=${base + 3}`,
      `--grpc.port=${base + 4}`,
      `--rest.port=${base + 5}`,
      '--metrics.enabled=false',
    ])
    const older = path.join(dir, 'older')
    let [nonce, lastHeight] = [0, 0]
    const send = async (): Promise<Hex> => node.ask<Hex>('eth_sendRawTransaction', await transfer(CHAIN, 0, nonce++))

    beforeAll(async () => {
      const made = hearth(['init', '--cometbft', '--home', home, '--chain-id', String(CHAIN), '--dev-accounts', '3'])
      expect(made.status, made.stderr).toBe(0)
      started(node)
      await node.reaches(2)
    })

    it('makes blocks whose hash is CometBFT’s app hash', async () => {
      const at = await node.receipt(await send())
      await node.reaches(at + 1)
      const [block, before] = [await node.block(at), await node.block(at - 1)]
      const [own, next, last] = await Promise.all([at, at + 1, at - 1].map((h) => node.comets<CometBlock>(`block?height=${h}`)))
      expect(lower(next?.block.header.app_hash as string)).toBe(block.hash)
      expect(block.extraData).toBe(lower(own?.block_id.hash as string))
      expect(block.parentBeaconBlockRoot).toBe(lower(last?.block_id.hash as string))
      expect(before.extraData).toBe(block.parentBeaconBlockRoot)
      expect((await node.block(1)).parentBeaconBlockRoot).toBe(ZERO)
      expect(own?.block.data.txs.map((tx) => keccak256(Buffer.from(tx, 'base64')))).toEqual(block.transactions)
      const [latest, safe, finalized] = await Promise.all(['latest', 'safe', 'finalized'].map((tag) => node.block(tag)))
      expect(Number(safe?.number) - Number(latest?.number)).toBeLessThanOrEqual(1)
      expect(Number(finalized?.number)).toBeGreaterThanOrEqual(Number(latest?.number))
    })

    it('takes transactions through CometBFT’s RPC and its mempool', async () => {
      const raw = await transfer(CHAIN, 0, nonce++)
      const { code, hash } = await node.comets<{ code: number; hash: string }>(`broadcast_tx_sync?tx=${raw}`)
      expect(code).toBe(0)
      const at = await node.receipt(keccak256(raw))
      expect((await node.block(at)).transactions).toContain(keccak256(raw))
      await until('CometBFT indexes it', () =>
        node
          .comets(`tx?hash=0x${hash}`)
          .then(() => true)
          .catch(() => false),
      )
      const refused = await node
        .comets<{ code: number; log: string }>(`broadcast_tx_sync?tx=${raw}`)
        .catch((e: Error) => ({ code: -1, log: e.message }))
      expect(refused.code).not.toBe(0)
      const garbage = await node.comets<{ code: number; codespace: string }>('broadcast_tx_sync?tx="garbage"')
      expect(garbage).toMatchObject({ code: 1, codespace: 'evm' })
    })

    it('reports its state: eth_syncing, /ready, hearth status', async () => {
      expect(await node.ask('eth_syncing')).toBe(false)
      expect(await node.ask('net_peerCount')).toBe('0x0')
      expect(await node.ready()).toMatchObject({ status: 200 })
      const asked = hearth(['status', '--home', home, '--json'])
      expect(asked.status, asked.stderr).toBe(0)
      const { consensus } = JSON.parse(asked.stdout) as { consensus: unknown }
      expect(consensus).toMatchObject({ height: expect.any(Number), round: 0, peers: 0, catchingUp: false, votingPower: 10 })
      const text = hearth(['status', '--home', home]).stdout
      expect(text).toMatch(/^consensus +height \d+, round 0$/m)
      expect(text).toMatch(/^voting power +10$/m)
    })

    it('makes blocks again after kills of CometBFT, Hearth or both', async () => {
      for (const whom of ['cometbft', 'hearth', 'both']) {
        const hash = await send()
        const [engine, before] = [node.engine as number, await node.height()]
        if (whom !== 'hearth') process.kill(engine, 'SIGKILL')
        if (whom !== 'cometbft') {
          await node.end('SIGKILL')
          node.start()
        }
        const killed = performance.now()
        await node.reaches(before + 2)
        if (whom === 'cometbft') await until('another CometBFT', () => node.engine !== undefined && node.engine !== engine)
        // The pool of a Hearth that continues has it still.
        if (whom === 'cometbft') await node.receipt(hash)
        console.log(`CometBFT ${version}: blocks ${((performance.now() - killed) / 1000).toFixed(1)} s after the kill of ${whom}`)
        // What the pool of a killed process held is sent again.
        nonce = Number(await node.ask<Hex>('eth_getTransactionCount', '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', 'latest'))
      }
    })

    it('rolls back, and CometBFT replays to the same blocks', async () => {
      await node.receipt(await send())
      const [head, before] = [await node.height(), await node.block('latest')]
      expect(await node.end()).toBe(0)
      const back = hearth(['db', 'rollback', '--home', home, '--to', String(head - 3), '--yes'])
      expect(back.status, back.stderr).toBe(0)
      node.start()
      await node.reaches(head + 1)
      expect((await node.block(Number(before.number))).hash).toBe(before.hash)
    })

    it('replays from the genesis if its data is removed', async () => {
      const before = await node.block('latest')
      expect(await node.end()).toBe(0)
      const genesis = path.join(dir, 'genesis.json')
      fs.copyFileSync(path.join(home, 'config/genesis.json'), genesis)
      fs.rmSync(path.join(home, 'data'), { recursive: true })
      fs.rmSync(path.join(home, 'config/chain.json'))
      const made = hearth(['init', '--home', home, '--genesis', genesis])
      expect(made.status, made.stderr).toBe(0)
      node.start()
      await node.reaches(Number(before.number) + 1)
      expect((await node.block(Number(before.number))).hash).toBe(before.hash)
    })

    it('is backed up without the validator key by default', () => {
      const backup = (...more: string[]): string => {
        const made = hearth(['backup', '--home', home, '--to', path.join(dir, 'backups'), '--json', ...more])
        expect(made.status, made.stderr).toBe(0)
        return (JSON.parse(made.stdout) as { dir: string }).dir
      }
      const [without, with_] = [backup(), backup('--validator-key')]
      const has = (at: string, name: string): boolean => fs.existsSync(path.join(at, 'cometbft', name))
      for (const name of ['config/config.toml', 'config/genesis.json', 'config/node_key.json'])
        expect([name, has(without, name)]).toEqual([name, true])
      for (const name of ['config/priv_validator_key.json', 'data/priv_validator_state.json']) {
        expect([name, has(without, name), has(with_, name)]).toEqual([name, false, true])
        expect(fs.statSync(path.join(with_, 'cometbft', name)).mode & 0o077).toBe(0)
      }
    })

    it('does not start with a conflicting set-up', async () => {
      expect(await node.end()).toBe(0)
      const refused = async (said: RegExp, ...more: string[]): Promise<void> => {
        node.log = ''
        node.start(more)
        const late = sleep(REFUSED_MS_MAX).then(() => 'late')
        expect([0, 'late'], node.log).not.toContain(await Promise.race([node.whenEnded(), late]))
        expect(node.log).toMatch(said)
      }
      await refused(/evm\.trace_bake_enabled is for followers: this node is a validator/, '--evm.trace_bake_enabled=true')
      await refused(/go install github\.com\/cometbft\/cometbft/, `--consensus.cometbft_bin=${path.join(dir, 'nothing')}`)
      await refused(/holds no version of CometBFT/, `--consensus.cometbft_bin=${process.execPath}`)
      await refused(/the path of the socket .* 107 are possible/, `--consensus.abci_address=unix:///tmp/${'x'.repeat(120)}`)
      const taken = net.createServer().listen(base + 6, '127.0.0.1')
      await refused(/another process has it\. Choose another port with --consensus\.rpc_port/, `--consensus.rpc_port=${base + 6}`)
      taken.close()
      // It waits for an application that never comes.
      const foreign = spawn(program, ['start', `--home=${file('')}`, '--proxy_app=unix:///nothing.sock'], { stdio: 'ignore' })
      try {
        await refused(new RegExp(`process ${foreign.pid} is a CometBFT on .* that Hearth did not start`))
      } finally {
        foreign.kill('SIGKILL')
        await new Promise((resolve) => foreign.once('exit', resolve))
      }
      fs.cpSync(file('data'), older, { recursive: true })
    })

    it('is started and stopped with an operator’s own CometBFT', async () => {
      const socket = path.join(dir, 'own.sock')
      node.start(['--consensus.supervise=false', `--consensus.abci_address=unix://${socket}`])
      await until('the socket', () => fs.existsSync(socket))
      const args = ['start', '--home', path.join(home, 'cometbft'), `--proxy_app=unix://${socket}`]
      const own = spawn(program, [...args, `--rpc.laddr=tcp://127.0.0.1:${base + 2}`, `--p2p.laddr=tcp://127.0.0.1:${base + 3}`], {
        stdio: 'ignore',
      })
      try {
        await until('the node answers', () =>
          node
            .height()
            .then(() => true)
            .catch(() => false),
        )
        const before = await node.height()
        const hash = await send()
        await node.reaches(before + 2)
        await node.receipt(hash)
        expect(node.engine).toBeUndefined()
        expect(await node.ready()).toMatchObject({ status: 200 })
        lastHeight = await node.height()
      } finally {
        own.kill('SIGTERM')
        await new Promise((resolve) => own.once('exit', resolve))
        expect(await node.end()).toBe(0)
      }
    })

    it('stays up and names the rollback if CometBFT is behind', async () => {
      const head = await node.end().then(() => lastHeight)
      fs.rmSync(file('data'), { recursive: true })
      fs.cpSync(older, file('data'), { recursive: true })
      node.start()
      await until('the reason', async () => (await node.ready().catch(() => ({ text: '' }))).text.includes('db rollback'))
      const { text } = await node.ready()
      const [, core] = /app block height \((\d+)\) is higher than core \((\d+)\)/.exec(text)?.slice(1) ?? []
      expect(Number(core), text).toBeLessThan(head)
      expect(await node.height()).toBeGreaterThanOrEqual(head)
      expect(await node.end()).toBe(0)
      const back = hearth(['db', 'rollback', '--home', home, '--to', core as string, '--yes'])
      expect(back.status, back.stderr).toBe(0)
      node.start()
      await node.reaches(head + 1)
      expect(await node.end()).toBe(0)
    })
  })

  describe('a network of validators and a follower', () => {
    let nodes: NetworkNode[] = []
    const follower = (): NetworkNode => nodes.at(-1) as NetworkNode

    beforeAll(async () => {
      const args = ['--validators', '4', '--followers', '1', '--chain-id', String(CHAIN), '--dev-accounts', '5']
      nodes = makeNetwork(path.join(dir, 'net'), program, base + 100, args, [
        '--consensus.timeout_commit=300ms',
        '--consensus.snapshot_interval_blocks=20',
      ])
      for (const node of nodes) started(node, node === nodes.at(-1) ? ['--evm.trace_bake_enabled=true'] : [])
      await Promise.all(nodes.map((node) => node.reaches(2)))
    })

    it('has receipts on all nodes for transactions sent to any', async () => {
      const hashes = await Promise.all(nodes.map(async (node, i) => node.ask<Hex>('eth_sendRawTransaction', await transfer(CHAIN, i, 0))))
      const places = await Promise.all(nodes.map((node) => Promise.all(hashes.map((hash) => node.receipt(hash)))))
      expect(new Set(places.map(String)).size).toBe(1)
      expect(await follower().ask('eth_syncing')).toBe(false)
      expect(Number(await follower().ask('net_peerCount'))).toBe(4)
      const { consensus } = JSON.parse(hearth(['status', '--home', follower().home, '--json']).stdout) as { consensus: unknown }
      expect(consensus).toMatchObject({ votingPower: 0, peers: 4 })
      // The follower has it executed and bakes it: it traces.
      expect(await follower().ask('debug_traceTransaction', hashes[0], { tracer: 'callTracer' })).toMatchObject({
        type: 'CALL',
        value: '0x1',
      })
    })

    it('goes on with one of four down, which catches up', async () => {
      const [first] = nodes as [NetworkNode]
      await first.end('SIGKILL')
      const height = await follower().height()
      await follower().reaches(height + 2)
      first.start()
      await sameBlocks(nodes, 1, height + 3)
    })

    it('is joined by a node that gets its state from a snapshot', async () => {
      await follower().reaches(22)
      // Both that serve headers are as high as the snapshot: the light client waits 30 s for one
      // that is behind.
      const [one, two] = nodes as [NetworkNode, NetworkNode]
      await one.reaches(await two.height())
      const trusted = await one.comets<{ signed_header: { header: { height: string }; commit: { block_id: { hash: string } } } }>(
        'commit?height=5',
      )
      const home = path.join(dir, 'joined')
      const trust = ['--trust-height', '5', '--trust-hash', trusted.signed_header.commit.block_id.hash]
      const made = hearth(['init', '--cometbft', '--home', home, '--join', `${one.comet},${two.comet}`, ...trust])
      expect(made.status, made.stderr).toBe(0)
      const ports = { http: base + 200, rpc: base + 202 }
      const listen = [
        `--evm.http_port=${ports.http}`,
        `--evm.ws_port=${base + 201}`,
        `--consensus.rpc_port=${ports.rpc}`,
        `--consensus.p2p_port=${base + 203}`,
        `--grpc.port=${base + 204}`,
        `--rest.port=${base + 205}`,
      ]
      const joined = started(
        new NetworkNode('joined', home, ports, [`--consensus.cometbft_bin=${program}`, ...listen, '--metrics.enabled=false']),
      )
      await until(
        () => `it follows:\n${joined.log.slice(-2000)}`,
        async () => (await joined.height().catch(() => 0)) > 22,
        100,
      )
      const height = await joined.height()
      await sameBlocks([one, joined], height, height + 1)
      await expect(joined.block(1)).rejects.toThrow(/before the first block/)
      await joined.end()
    })

    it('is proven by the light client of CometBFT', async () => {
      const [one, two] = nodes as [NetworkNode, NetworkNode]
      const height = await one.height()
      await one.reaches(height + 2)
      const trusted = await one.comets<{ signed_header: { commit: { block_id: { hash: string } } } }>('commit?height=2')
      const args = [
        'light',
        `hearth-${CHAIN}`,
        '--primary',
        one.comet,
        '--witnesses',
        two.comet,
        '--height',
        '2',
        '--hash',
        trusted.signed_header.commit.block_id.hash,
      ]
      const client = spawn(program, [...args, '--laddr', `tcp://127.0.0.1:${base + 290}`, '--home-dir', path.join(dir, 'light')], {
        stdio: 'ignore',
      })
      try {
        let proven: { signed_header: { header: { app_hash: string } } } | undefined
        await until('the light client answers', async () => {
          const answer = await fetch(`http://127.0.0.1:${base + 290}/commit?height=${height + 1}`).catch(() => undefined)
          proven = ((await answer?.json()) as { result?: typeof proven } | undefined)?.result
          return proven !== undefined
        })
        expect(lower(proven?.signed_header.header.app_hash as string)).toBe((await one.block(height)).hash)
      } finally {
        client.kill('SIGKILL')
      }
    })

    it('stops without an orphan', async () => {
      const engines = nodes.map((node) => node.engine)
      expect(await Promise.all(nodes.map((node) => node.end()))).toEqual(nodes.map(() => 0))
      for (const pid of engines) expect(spawnSync('ps', ['-p', String(pid)]).status).not.toBe(0)
    })

    it('exports a chain that another home imports by its rules', () => {
      const [one] = nodes as [NetworkNode]
      const [file, again, home] = ['chain.rlp', 'again.rlp', 'imported'].map((name) => path.join(dir, name)) as [string, string, string]
      expect(hearth(['export', '--home', one.home, file]).status).toBe(0)
      const imported = hearth(['import', '--home', home, '--genesis', path.join(one.home, 'config/genesis.json'), file])
      expect(imported.status, imported.stderr).toBe(0)
      expect(hearth(['export', '--home', home, again]).status).toBe(0)
      expect(fs.readFileSync(again).equals(fs.readFileSync(file))).toBe(true)
    })
  })

  it('makes a network of an imported chain, which continues', async () => {
    // Blocks of a development node, imported as those of any chain.
    const dev = await startNode(['dev', '--home', path.join(dir, 'dev'), '--dev.chain_id', String(CHAIN)])
    const hashes = await Promise.all(
      [0, 1, 2].map(async (sender) => (await rpc(dev.url, 'eth_sendRawTransaction', [await transfer(CHAIN, sender, 0)])).result as Hex),
    )
    expect(await dev.stop()).toBe(0)
    const [chain, source] = [path.join(dir, 'dev.rlp'), path.join(dir, 'source')]
    expect(hearth(['export', '--home', path.join(dir, 'dev'), chain]).status).toBe(0)
    const genesis = JSON.parse(fs.readFileSync(path.join(dir, 'dev/config/genesis.json'), 'utf8')) as { config: Record<string, unknown> }
    delete genesis.config.chainIdInExtraData
    const plain = path.join(dir, 'plain.json')
    fs.writeFileSync(plain, JSON.stringify(genesis))
    const imported = hearth(['import', '--home', source, '--genesis', plain, chain])
    expect(imported.status, imported.stderr).toBe(0)

    const nodes = makeNetwork(path.join(dir, 'from'), program, base + 250, ['--validators', '2', '--from-home', source], QUICK)
    const made = JSON.parse(fs.readFileSync(path.join(dir, 'from/node0/cometbft/config/genesis.json'), 'utf8')) as {
      initial_height: string
    }
    expect(made.initial_height).toBe('4')
    expect(fs.readdirSync(path.join(dir, 'from')).toSorted()).toEqual(['node0', 'node1', 'testnet.json'])
    for (const node of nodes) started(node)
    await sameBlocks(nodes, 0, 6)
    const [one] = nodes as [NetworkNode]
    // What was there before is there still, with its receipts and traces.
    expect(await one.receipt(hashes[0] as Hex)).toBe(1)
    expect(await one.ask('debug_traceTransaction', hashes[0], { tracer: 'callTracer' })).toMatchObject({ type: 'CALL' })
    const next = await one.ask<Hex>('eth_sendRawTransaction', await transfer(CHAIN, 0, 1))
    expect(await one.receipt(next)).toBeGreaterThan(3)
    // A restart finds CometBFT and the chain at one height.
    expect(await one.end()).toBe(0)
    one.start()
    await sameBlocks(nodes, 4, (await (nodes[1] as NetworkNode).height()) + 1)
    await Promise.all(nodes.map((node) => node.end()))
  })
})
