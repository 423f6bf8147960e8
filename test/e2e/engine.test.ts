// A node that a consensus client drives: its listener and tokens, payloads and fork choices, kills
// at every phase, probes and metrics.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsensusClient, type Payload, token, ZERO } from './engine-client.ts'
import { blockOf, type Driven, drive, GENESIS_TIME, newHome, secretFile, secretOf } from './engine-node.ts'
import { hearth, type RunningNode, rpc, startNode } from './harness.ts'
import { until } from './waiting.ts'

describe('a node that a consensus client drives', () => {
  const home = newHome()
  let { node, consensus }: Partial<Driven> = {}
  let start = ''
  const driven = (): Driven => ({ node: node as RunningNode, consensus: consensus as ConsensusClient })
  beforeAll(async () => {
    ;({ node, consensus } = await drive(home, '--engine.max_request_body_bytes=64 KiB', '--engine.ready_max_silence=1s'))
    start = (await blockOf(node, 'latest')).hash
  })
  afterAll(async () => {
    expect(await driven().node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  it('makes the secret for its owner alone', () => {
    expect(fs.readFileSync(secretFile(home), 'utf8')).toMatch(/^0x[0-9a-f]{64}\n$/)
    expect(fs.statSync(secretFile(home)).mode & 0o777).toBe(0o600)
  })

  it('requires a token, and keeps its methods off the public port', async () => {
    const { node, consensus } = driven()
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
    const status = async (headers: Record<string, string>): Promise<number> => (await consensus.post(body, headers)).status
    const bearer = (skewS: number, secret = secretOf(home)): Record<string, string> => ({ authorization: `Bearer ${token(secret, skewS)}` })
    expect(await status({})).toBe(401)
    expect(await status(bearer(0, Buffer.alloc(32)))).toBe(401)
    expect(await status(bearer(-90))).toBe(401)
    expect(await status(bearer(90))).toBe(401)
    expect(await status(bearer(0))).toBe(200)
    expect((await rpc(node.url, 'engine_exchangeCapabilities', [[]])).error?.code).toBe(-32601)
    expect((await consensus.ask('debug_traceBlockByNumber', 'latest')).error?.code).toBe(-32601)
    const names = await consensus.call<string[]>('engine_exchangeCapabilities', [])
    const versions = (name: string, to: number): string[] => Array.from({ length: to }, (_, i) => `engine_${name}V${i + 1}`)
    const known = [
      ...versions('newPayload', 4),
      ...versions('forkchoiceUpdated', 3),
      ...versions('getPayload', 5),
      ...versions('getBlobs', 3),
      ...['engine_getPayloadBodiesByHashV1', 'engine_getPayloadBodiesByRangeV1', 'engine_getClientVersionV1'],
    ]
    expect([...names].sort()).toEqual([...known].sort())
  })

  it('refuses a body over its limit', async () => {
    const { consensus } = driven()
    const long = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: ['x'.repeat(70_000)] })
    expect((await consensus.post(long)).status).toBe(413)
  })

  it('is ready while fork choices come', async () => {
    const { node, consensus } = driven()
    const ready = async (): Promise<{ status: number; text: string }> => {
      const response = await fetch(`${node.url}/ready`)
      return { status: response.status, text: await response.text() }
    }
    expect(await ready()).toMatchObject({ status: 503, text: expect.stringContaining('no consensus client has chosen a head yet') })
    await until('the node is ready', async () => {
      await consensus.choose(start)
      return (await ready()).status === 200
    })
    await until('the silence is noticed', async () => (await ready()).text.includes('engine.ready_max_silence'))
  })

  it('builds, executes without a new head, then moves the head', async () => {
    const { node, consensus } = driven()
    const payload = await consensus.build(start, GENESIS_TIME + 12)
    expect(await consensus.give(payload)).toEqual({ status: 'VALID', latestValidHash: payload.blockHash, validationError: null })
    expect((await blockOf(node, 'latest')).hash).toBe(start)
    expect((await rpc(node.url, 'eth_getBlockByNumber', ['safe', false])).error).toMatchObject({
      code: -32000,
      message: 'safe block not found',
    })
    expect(await consensus.choose(payload.blockHash, { safe: payload.blockHash, finalized: start })).toMatchObject({ status: 'VALID' })
    const tags = await Promise.all(['latest', 'safe', 'finalized'].map(async (tag) => (await blockOf(node, tag)).hash))
    expect(tags).toEqual([payload.blockHash, payload.blockHash, start])
  })

  it('says which field of a payload is wrong, and remembers it', async () => {
    const { node, consensus } = driven()
    const head = await blockOf(node, 'latest')
    const payload = await consensus.build(head.hash, GENESIS_TIME + 24)
    const wrong = { ...payload, blockHash: `0x${'12'.repeat(32)}` }
    const refused = await consensus.give(wrong)
    expect(refused).toEqual({
      status: 'INVALID',
      latestValidHash: null,
      validationError: `blockHash is ${wrong.blockHash}, the fields give ${payload.blockHash}`,
    })
    const { error } = await consensus.ask('engine_forkchoiceUpdatedV3', {
      headBlockHash: head.hash,
      safeBlockHash: `0x${'34'.repeat(32)}`,
      finalizedBlockHash: ZERO,
    })
    expect(error).toEqual({
      code: -38002,
      message: 'Invalid forkchoice state',
      data: `safeBlockHash 0x${'34'.repeat(32)} is not known`,
    })
  })

  it('counts payloads and fork choices', async () => {
    const { node } = driven()
    const page = await (await fetch(node.metrics ?? '')).text()
    const value = (name: string): number =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page.replaceAll(/,?otel_\w+="[^"]*"/g, ''))?.[1])
    expect(value('engine_new_payload_seconds_count\\{status="VALID"\\}')).toBe(1)
    expect(value('engine_new_payload_seconds_count\\{status="INVALID"\\}')).toBe(1)
    expect(value('engine_executed_payloads')).toBe(1)
  })
})

describe('kills', () => {
  /**
   * Two branches on the genesis: `long` is the node's own chain, `other` is known and not chosen.
   */
  async function branches({ consensus }: Driven, start: string, blocks: number): Promise<{ long: Payload[]; other: Payload[] }> {
    const other = [await consensus.build(start, GENESIS_TIME + 12, 1)]
    const long: Payload[] = []
    for (let parent = start; long.length < blocks; ) {
      const payload = await consensus.build(parent, GENESIS_TIME + 12 * (long.length + 1))
      expect((await consensus.give(payload)).status).toBe('VALID')
      expect((await consensus.choose(payload.blockHash)).status).toBe('VALID')
      long.push(payload)
      parent = payload.blockHash
    }
    return { long, other }
  }

  it('during payloads, choices and reorgs leave a chosen head', async () => {
    const home = newHome()
    let driven = await drive(home)
    const start = (await blockOf(driven.node, 'latest')).hash
    const { long, other } = await branches(driven, start, 32)
    const [top, side] = [long.at(-1) as Payload, other[0] as Payload]
    // Executed, made ready and not chosen: gone after the kill, and handed over again.
    expect((await driven.consensus.give(side)).status).toBe('VALID')
    await new Promise((resolve) => setTimeout(resolve, 200))
    await driven.node.stop('SIGKILL')
    driven = await drive(home)
    expect((await blockOf(driven.node, 'latest')).hash).toBe(top.blockHash)
    expect((await driven.consensus.choose(side.blockHash)).status).toBe('SYNCING')
    // Killed at some moment of the move: either head is one that a fork choice named.
    for (let round = 0; round < 6; round++) {
      expect((await driven.consensus.give(side)).status).toBe('VALID')
      const there = (await blockOf(driven.node, 'latest')).hash
      const target = there === side.blockHash ? top.blockHash : side.blockHash
      const moving = driven.consensus.choose(target).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, round * 3))
      await driven.node.stop('SIGKILL')
      await moving
      driven = await drive(home)
      const head = (await blockOf(driven.node, 'latest')).hash
      expect([side.blockHash, top.blockHash]).toContain(head)
      for (const payload of long) await driven.consensus.give(payload)
      expect((await driven.consensus.choose(top.blockHash)).status).toBe('VALID')
      expect((await blockOf(driven.node, '0x20')).hash).toBe(top.blockHash)
    }
    // Killed as soon as the fork choice is answered, whether the payload had time to be made ready
    // or not: the answer stands.
    let head = top
    for (let round = 0; round < 4; round++) {
      const next = await driven.consensus.build(head.blockHash, Number(head.timestamp) + 12)
      expect((await driven.consensus.give(next)).status).toBe('VALID')
      if (round % 2 === 1) await new Promise((resolve) => setTimeout(resolve, 100))
      expect((await driven.consensus.choose(next.blockHash)).status).toBe('VALID')
      await driven.node.stop('SIGKILL')
      driven = await drive(home)
      expect((await blockOf(driven.node, 'latest')).hash).toBe(next.blockHash)
      head = next
    }
    expect(await driven.node.stop()).toBe(0)
    const verified = hearth(['db', 'verify', '--home', home])
    expect(verified.status, verified.stdout + verified.stderr).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })
})

describe('the engine listener', () => {
  it('is off by default', async () => {
    const home = newHome()
    const node = await startNode(['start', '--home', home])
    expect(node.log()).not.toContain('Engine API')
    expect(fs.existsSync(secretFile(home))).toBe(false)
    // The head is safe and final where no consensus client says what is.
    expect((await blockOf(node, 'finalized')).number).toBe('0x0')
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  it('refuses a secret that is none, and says what makes one', () => {
    const home = newHome()
    const file = path.join(home, 'secret')
    fs.writeFileSync(file, 'not hex')
    const { status, stderr } = hearth([
      'start',
      '--home',
      home,
      '--engine',
      `--engine.jwt_secret_file=${file}`,
      '--evm.http_port=0',
      '--evm.ws_port=0',
    ])
    expect(status).toBe(2)
    expect(stderr).toContain(`engine.jwt_secret_file: ${file} must hold 32 bytes in hex, such as \`openssl rand -hex 32\` writes`)
    fs.rmSync(home, { recursive: true, force: true })
  })
})

describe('a genesis of Prague without its system contracts', () => {
  it('has no payloads: the answer names the contract', async () => {
    const home = newHome('prague', {})
    const { node, consensus } = await drive(home)
    try {
      const { hash } = await blockOf(node, '0x0')
      const state = { headBlockHash: hash, safeBlockHash: hash, finalizedBlockHash: hash }
      const attributes = {
        timestamp: `0x${(GENESIS_TIME + 12).toString(16)}`,
        prevRandao: ZERO,
        suggestedFeeRecipient: `0x${'fe'.repeat(20)}`,
        withdrawals: [],
        parentBeaconBlockRoot: ZERO,
      }
      const { error } = await consensus.ask('engine_forkchoiceUpdatedV3', state, attributes)
      expect(error?.code).toBe(-38003)
      expect(JSON.stringify(error)).toContain('(EIP-7002): there is no code at its address')
    } finally {
      await node.stop()
      fs.rmSync(home, { recursive: true, force: true })
    }
  })
})
