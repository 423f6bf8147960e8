// A follower under the real CometBFT that sends each transaction to the validator of its sender
// (consensus.redirect): 1,000 senders, and a validator that is killed.
import fs from 'node:fs'
import path from 'node:path'
import { type Hex, keccak256 } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownerOf } from '../../ts/rpc/owner.ts'
import { cometbftProgram, TESTED_VERSION } from '../cometbft-programs.mjs'
import { hearth, tempHome } from './harness.ts'
import { NetworkNode, type Ports } from './network-nodes.ts'
import { basePort } from './network-ports.ts'
import { until } from './waiting.ts'

const CHAIN = 7357
const SENDERS = 1000
/** Requests under way at a time. */
const LANES = 8
const VALIDATORS = 4
/** Characters of the follower's log that a failure shows. */
const LOG_SHOWN = 4000
const MNEMONIC = 'test test test test test test test test test test test junk'
const GAS_PRICE = 20_000_000_000n
const BASE_PORT = basePort('redirectNetwork')

const cometbft = await cometbftProgram(TESTED_VERSION)
if ('missing' in cometbft) console.log(`skipped: CometBFT: ${cometbft.missing}`)

interface Node {
  readonly node: NetworkNode
  readonly metrics: number
  /** Its consensus address, 40 hex digits. */
  readonly address: string
}

interface Sent {
  readonly hash: Hex
  readonly owner: string
  /** The validator that answered; null where the follower did. */
  readonly to: string | null
}

describe.skipIf('missing' in cometbft)('a follower that redirects', () => {
  const dir = tempHome()
  const nodes: Node[] = []
  const accounts = Array.from({ length: SENDERS }, (_, i) => mnemonicToAccount(MNEMONIC, { addressIndex: i }))
  const follower = () => nodes.at(-1) as Node
  const validators = () => nodes.slice(0, VALIDATORS)

  beforeAll(async () => {
    const made = hearth([
      ...['testnet', '--validators', String(VALIDATORS), '--followers', '1', '--dir', path.join(dir, 'net')],
      ...['--base-port', String(BASE_PORT), '--chain-id', String(CHAIN), '--dev-accounts', String(SENDERS)],
    ])
    expect(made.status, made.stderr).toBe(0)
    const testnet = JSON.parse(fs.readFileSync(path.join(dir, 'net/testnet.json'), 'utf8')) as {
      nodes: { name: string; home: string; ports: Ports & { metrics: number } }[]
    }
    for (const { name, home, ports } of testnet.nodes) {
      const program = (cometbft as { program: string }).program
      const flags = [`--consensus.cometbft_bin=${program}`, '--consensus.timeout_commit=300ms', '--consensus.redirect=sender']
      const node = new NetworkNode(name, home, ports, flags)
      const key = JSON.parse(fs.readFileSync(path.join(home, 'cometbft/config/priv_validator_key.json'), 'utf8')) as { address: string }
      nodes.push({ node, metrics: ports.metrics, address: key.address.toLowerCase() })
      node.start()
    }
    for (const { node } of nodes) await node.reaches(3)
    // Until the follower has read the validators of the network, it serves requests itself.
    await until('the follower knows the validators', async () => {
      const params = [accounts[0]?.address, 'pending']
      return (await ask('eth_getTransactionCount', params)).headers.has('x-hearth-redirected-to')
    })
  })
  afterAll(async () => {
    const ends = await Promise.all(nodes.map(({ node }) => node.end()))
    fs.rmSync(dir, { recursive: true, force: true })
    expect(ends).toEqual(ends.map(() => expect.toBeOneOf([0, 'SIGKILL'])))
  })

  /** A request to the follower. */
  const ask = (method: string, params: readonly unknown[]): Promise<Response> =>
    fetch(follower().node.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })

  /** A request; a failure says how long it was under way, and what the follower logged last. */
  async function sending<T>(what: string, request: () => Promise<T>): Promise<T> {
    const began = performance.now()
    try {
      return await request()
    } catch (cause) {
      const ms = Math.round(performance.now() - began)
      throw new Error(`${what} failed after ${ms} ms: ${String(cause)}\n${follower().node.log.slice(-LOG_SHOWN)}`, { cause })
    }
  }

  /** Sends a transfer of each of these senders through the follower. */
  async function sendAll(senders: readonly number[], nonce: number): Promise<Sent[]> {
    const addresses = validators().map(({ address }) => address)
    const sent: Sent[] = []
    const left = [...senders]
    const lane = async (): Promise<void> => {
      for (let sender = left.pop(); sender !== undefined; sender = left.pop()) {
        const account = accounts[sender] as (typeof accounts)[number]
        const fee = { type: 'legacy', gas: 21_000n, gasPrice: GAS_PRICE } as const
        const raw = await account.signTransaction({ ...fee, chainId: CHAIN, nonce, to: `0x${'ee'.repeat(20)}`, value: 1n })
        const response = await sending(`transfer ${sent.length + 1} of ${senders.length}`, () => ask('eth_sendRawTransaction', [raw]))
        const hash = keccak256(raw)
        expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, result: hash })
        sent.push({ hash, owner: ownerOf(account.address, addresses) as string, to: response.headers.get('x-hearth-redirected-to') })
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    return sent
  }

  /** Waits until a block has each of them. */
  async function allIncluded(sent: readonly Sent[]): Promise<void> {
    for (const { hash } of sent) await follower().node.receipt(hash)
  }

  /** The sum of the samples of a metric whose labels have this text. */
  async function metric({ metrics }: Node, name: string, labels: string): Promise<number> {
    const page = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
    const samples = page.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(labels))
    return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  const redirected = (): Promise<number> => metric(follower(), 'evmrpc_redirected_requests_total', 'endpoint="eth_sendRawTransaction"')
  const requests = (node: Node): Promise<number> =>
    metric(node, 'evmrpc_request_latency_seconds_count', 'endpoint="eth_sendRawTransaction"')

  it('sends each of 1,000 senders to its owner first', async () => {
    const sent = await sendAll([...accounts.keys()], 0)
    expect(sent.map(({ to }) => to)).toEqual(sent.map(({ owner }) => owner))
    await allIncluded(sent)
    expect(await redirected()).toBe(SENDERS)
    // Each validator took those of its own senders from a client, and no other one.
    for (const one of validators()) {
      const own = sent.filter(({ owner }) => owner === one.address).length
      expect(own).toBeGreaterThan(SENDERS / VALIDATORS / 2)
      expect(await requests(one)).toBe(own)
    }
  })

  it('loses nothing when an owner is killed: the follower has it', async () => {
    const gone = nodes[0] as Node
    await gone.node.end('SIGKILL')
    const sent = await sendAll([...accounts.keys()].slice(0, 200), 1)
    const theirs = sent.filter(({ owner }) => owner === gone.address)
    expect(theirs.length).toBeGreaterThan(10)
    for (const { owner, to } of sent) expect(to).toBe(owner === gone.address ? null : owner)
    await allIncluded(sent)
    const failures = await metric(follower(), 'evmrpc_redirect_failures_total', 'reason=')
    expect(failures).toBe(theirs.length)
    // What is sent is counted before: all to the others, and the few that found the owner gone.
    const counted = (await redirected()) - SENDERS
    const unreachable = await metric(follower(), 'evmrpc_redirect_failures_total', 'reason="unreachable"')
    expect(counted).toBe(sent.length - theirs.length + unreachable)
    await until('the height rises', async () => (await follower().node.height()) > 3)
  })
})
