// Four validators and a follower under load while their processes are killed: in the full run for
// ten minutes, or for HEARTH_TEST_KILL_MINUTES, under the version of CometBFT that
// HEARTH_TEST_KILL_VERSION names.
import fs from 'node:fs'
import path from 'node:path'
import type { Hex } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import { cometbftProgram, VERSIONS } from '../cometbft-programs.mjs'
import { tempHome } from './harness.ts'
import { makeNetwork, type NetworkNode, sameBlocks, transfer } from './network-nodes.ts'
import { basePort } from './network-ports.ts'
import { sleep, until } from './waiting.ts'

const CHAIN = 7357

const FULL_MINUTES = 10
const asked = Number(process.env.HEARTH_TEST_KILL_MINUTES ?? 0)
const MINUTES = asked > 0 ? asked : process.env.HEARTH_TEST === 'full' ? FULL_MINUTES : 0

/** What a test may take beside the kills, in milliseconds. */
const AROUND_MS = 300_000

/** How long a validator may take from its restart to its first vote that the chain has. CometBFT
 * waits up to 3 s before it dials a peer, a second before it changes from catching up to voting,
 * and for the next height. */
const VOTES_AGAIN_MS_MAX = 5000

/** CometBFT's BlockIDFlag of a vote for the block (types/block.go). */
const VOTED_FOR_BLOCK = 2

/** What is killed. */
const KILLED = ['CometBFT', 'Hearth', 'both'] as const

/** Time between the end of one kill and the next, in milliseconds, at most. */
const PAUSE_MS_MAX = 4000

/** How long the load waits for a receipt before it sends again, in milliseconds. */
const RECEIPT_MS_MAX = 20_000

/** How much is shown of the log of a validator that was late. */
const LOG_SHOWN_CHARACTERS = 20_000

const BASE_PORT = basePort('cometbftKills')

const found =
  MINUTES > 0
    ? await cometbftProgram(VERSIONS.find((one) => one === process.env.HEARTH_TEST_KILL_VERSION) ?? VERSIONS[0])
    : { missing: 'kills for ten minutes run in full mode (npm run test:full)' }
if ('missing' in found) console.log(`skipped: four validators and a follower that are killed: ${found.missing}`)

/** Numbers that look random and are the same in every run (xorshift). */
function random(seed: number): (end: number) => number {
  let state = seed
  return (end) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % end
  }
}

interface Vote {
  readonly block_id_flag: number
  readonly validator_address: string
  readonly timestamp: string
}

/** The part of CometBFT's block with the votes for its parent. */
interface VotedBlock {
  readonly block: { readonly last_commit: { readonly height: string; readonly signatures: readonly Vote[] } }
}

/** A transaction whose receipt a client has seen. */
interface Acknowledged {
  readonly hash: Hex
  readonly block: number
}

/** Sends transfers of one account to one node and waits for each receipt, until it has to
 * stop. */
async function load(node: NetworkNode, sender: number, address: Hex, seen: Acknowledged[], stopped: () => boolean): Promise<void> {
  while (!stopped()) {
    try {
      const nonce = Number(await node.ask<Hex>('eth_getTransactionCount', address, 'latest'))
      const raw = await transfer(CHAIN, sender, nonce)
      const hash = await node.ask<Hex>('eth_sendRawTransaction', raw)
      for (const end = performance.now() + RECEIPT_MS_MAX; performance.now() < end; await sleep(50)) {
        const receipt = await node.ask<{ blockNumber: Hex; status: Hex } | null>('eth_getTransactionReceipt', hash)
        if (receipt === null) continue
        seen.push({ hash, block: Number(receipt.blockNumber) })
        break
      }
    } catch {
      // The node is being killed or started.
      await sleep(100)
    }
  }
}

const ADDRESSES: readonly Hex[] = [
  '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
  '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
  '0x90f79bf6eb2c4f870365e785982e1f101e93b906',
  '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65',
]

describe.skipIf('missing' in found)('four validators and a follower', () => {
  const dir = tempHome()
  let nodes: NetworkNode[] = []
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.end('SIGKILL')))
    fs.rmSync(dir, { recursive: true, force: true })
  })

  /** Kills a node or its CometBFT, starts it again, and waits for its vote; resolves to the
   * milliseconds from the start to the time in the first vote that a block has. The commit of the
   * newest height has no more votes than two thirds of the power need, and lacks later ones. */
  async function kill(node: NetworkNode, whom: number, watcher: NetworkNode): Promise<number> {
    const engine = node.engine
    if (whom !== 1 && engine !== undefined) process.kill(engine, 'SIGKILL')
    if (whom !== 0) {
      await node.end('SIGKILL')
      node.start()
    }
    const began = Date.now()
    const logged = node.log.length
    const key = JSON.parse(fs.readFileSync(path.join(node.home, 'cometbft/config/priv_validator_key.json'), 'utf8')) as { address: string }
    let voted = Number.NaN
    let next = (await watcher.height()) + 1
    await until(
      `${node.name} votes again:\n${node.log.slice(-2000)}`,
      async () => {
        if ((await watcher.height()) <= next) return false
        // The block after a height has the votes for the height.
        const { block } = await watcher.comets<VotedBlock>(`block?height=${next + 1}`)
        expect(block.last_commit.height).toBe(String(next))
        const vote = block.last_commit.signatures.find((one) => one.validator_address === key.address)
        next++
        voted = vote?.block_id_flag === VOTED_FOR_BLOCK ? Date.parse(vote.timestamp) : Number.NaN
        // The validator may have voted for the first height before it was killed.
        return voted >= began
      },
      50,
    )
    if (voted - began > VOTES_AGAIN_MS_MAX)
      console.log(`${node.name} voted after ${voted - began} ms:\n${node.log.slice(logged).slice(0, LOG_SHOWN_CHARACTERS)}`)
    return voted - began
  }

  it(
    'lose nothing acknowledged and have equal blocks after kills',
    async () => {
      const args = ['--validators', '4', '--followers', '1', '--chain-id', String(CHAIN), '--dev-accounts', '5']
      nodes = makeNetwork(path.join(dir, 'net'), (found as { program: string }).program, BASE_PORT, args)
      for (const node of nodes) node.start()
      await Promise.all(nodes.map((node) => node.reaches(2)))
      let isOver = false
      const seen: Acknowledged[] = []
      const loads = nodes.map((node, i) => load(node, i, ADDRESSES[i] as Hex, seen, () => isOver))
      const below = random(0x5eed)
      const took: { readonly whom: number; readonly ms: number }[] = []
      for (const end = Date.now() + MINUTES * 60_000; Date.now() < end; await sleep(below(PAUSE_MS_MAX))) {
        // One validator at a time: three quarters of the power continue.
        const at = below(4)
        const whom = below(KILLED.length)
        took.push({ whom, ms: await kill(nodes[at] as NetworkNode, whom, nodes[(at + 1) % 4] as NetworkNode) })
      }
      isOver = true
      await Promise.all(loads)
      const height = await (nodes[0] as NetworkNode).height()
      await sameBlocks(nodes, 1, height)
      for (const node of nodes)
        for (const { hash, block } of seen) {
          const receipt = await node.ask<{ blockNumber: Hex } | null>('eth_getTransactionReceipt', hash)
          expect([node.name, hash, receipt && Number(receipt.blockNumber)]).toEqual([node.name, hash, block])
        }
      const spread = (all: readonly number[]): { readonly most: number; readonly text: string } => {
        const sorted = all.toSorted((a, b) => a - b)
        const [half, most] = [sorted[sorted.length >> 1] ?? 0, sorted.at(-1) ?? 0]
        return { most, text: `p50 ${half.toFixed(0)} ms, max ${most.toFixed(0)} ms` }
      }
      const { most, text } = spread(took.map(({ ms }) => ms))
      const kinds = KILLED.map((name, i) => `${name} ${spread(took.flatMap(({ whom, ms }) => (whom === i ? [ms] : []))).text}`)
      console.log(
        `${took.length} kills in ${MINUTES} minutes, ${height} blocks, ${seen.length} acknowledged; votes again after ${text} (${kinds.join('; ')})`,
      )
      expect(seen.length).toBeGreaterThan(10 * MINUTES)
      for (const { log, name } of nodes) expect([name, log.includes('an exception stops CometBFT')]).toEqual([name, false])
      expect(most).toBeLessThanOrEqual(VOTES_AGAIN_MS_MAX)
    },
    MINUTES * 60_000 + AROUND_MS,
  )
})
