// Transactions to the validator that their sender belongs to: whose they are, what goes there, and
// what happens where it does not answer.
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { concat, type Hex, keccak256, numberToHex } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { redirectsOf } from '../../ts/cli/consensus/engine.ts'
import { resolveSettings } from '../../ts/config/index.ts'
import type { Engine } from '../../ts/consensus/engine.ts'
import { fetchValidators, ValidatorSets } from '../../ts/consensus/validators.ts'
import { openLog } from '../../ts/log/index.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { NO_METER } from '../../ts/rpc/meter.ts'
import { ownerOf } from '../../ts/rpc/owner.ts'
import { Redirects, validatorUrls } from '../../ts/rpc/redirect.ts'
import { startServer } from '../../ts/server/index.ts'
import { until } from '../e2e/waiting.ts'
import { drain, fakeCore } from './fake-core.ts'

/** An answer of JSON-RPC: what the tests read of it. */
interface Answer {
  readonly result?: unknown
  readonly error: { readonly code: number; readonly message: string }
}

const address = (n: number): string => numberToHex(n, { size: 20 }).slice(2)
const sender = (n: number): Hex => `0x${address(0x5000 + n)}`
const HASH = keccak256('0x01')

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

interface Seen {
  readonly method: string
  readonly params: unknown[]
  readonly headers: http.IncomingHttpHeaders
}

/** A validator: answers with a function of the request; undefined leaves it without an answer. */
async function validator(answer: (seen: Seen) => object | undefined): Promise<{ url: string; seen: Seen[]; stop: () => Promise<void> }> {
  const seen: Seen[] = []
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body)
      seen.push({ method, params, headers: request.headers })
      const given = answer(seen.at(-1) as Seen)
      if (given === undefined) return
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...given }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  cleanups.push(stop)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, stop }
}

describe('the owner of a sender', () => {
  it('is the candidate with the highest hash of sender and address', () => {
    const candidates = [1, 2, 3, 4].map(address)
    for (let i = 0; i < 50; i++) {
      const ranks = candidates.map((a) => [BigInt(keccak256(concat([sender(i), `0x${a}`]))), a] as const)
      const [, best] = ranks.reduce((a, b) => (b[0] > a[0] ? b : a))
      expect(ownerOf(sender(i), candidates)).toBe(best)
      expect(ownerOf(sender(i), [...candidates].reverse())).toBe(best)
    }
    expect(ownerOf(sender(1), [])).toBeUndefined()
  })

  it('moves few senders when a validator leaves, evenly', () => {
    const all = [1, 2, 3, 4].map(address)
    const owners = Array.from({ length: 1000 }, (_, i) => ownerOf(sender(i), all))
    const without = Array.from({ length: 1000 }, (_, i) => ownerOf(sender(i), all.slice(0, 3)))
    for (const [i, owner] of owners.entries()) if (owner !== all[3]) expect(without[i]).toBe(owner)
    for (const one of all) expect(Math.abs(owners.filter((owner) => owner === one).length - 250)).toBeLessThan(75)
  })

  it('is here, where nobody else with a URL is', () => {
    const never = async () => ({ failure: 'unusable' }) as const
    const set = { own: address(9), addresses: [1, 2, 9].map(address) }
    const of = (urls: string[], known: typeof set | undefined = set) =>
      new Redirects(new Map([...validatorUrls(urls)].map(([a]) => [a, never])), () => known, ownerOf).ownerFor(sender(1))
    expect(of([], set)).toBeUndefined()
    expect(of([`${address(9)}=http://a`])).toBeUndefined()
    expect(of([`${address(2)}=http://a`])).toBe(address(2))
    // No validator at the head.
    expect(of([`${address(7)}=http://a`])).toBeUndefined()
    expect(of([`${address(7)}=http://a`, 'http://b'])).toBe('any')
    expect(new Redirects(new Map([['any', never]]), () => undefined, ownerOf).ownerFor(sender(1))).toBeUndefined()
  })

  it('follows the validators of the network', async () => {
    let addresses = [1, 2].map(address)
    let now = 0
    const sets = new ValidatorSets(
      async () => ({ own: address(9), addresses }),
      () => now,
    )
    expect(sets.get()).toBeUndefined()
    await until('the validators', () => sets.get() !== undefined)
    const first = sets.get()
    now = 999
    addresses = [address(3)]
    expect(sets.get()).toBe(first)
    now = 1000
    expect(sets.get()).toBe(first)
    await until('the validators', () => sets.get() !== first)
    expect(sets.get()?.addresses).toEqual([address(3)])
  })

  it('is asked of CometBFT page by page', async () => {
    const asked: string[] = []
    const server = http.createServer((request, response) => {
      asked.push(request.url ?? '')
      const page = Number(/&page=(\d+)$/.exec(request.url ?? '')?.[1] ?? 0)
      const count = page === 1 ? 100 : 7
      const validators = Array.from({ length: count }, (_, i) => ({ address: address(page * 1000 + i).toUpperCase(), voting_power: '1' }))
      const result = request.url === '/status' ? { validator_info: { address: 'ABCD' } } : { block_height: '5', validators, total: '107' }
      response.end(JSON.stringify({ result }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    cleanups.push(() => server.close())
    const { own, addresses } = await fetchValidators(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    expect([own, addresses.length, addresses[106]]).toEqual(['abcd', 107, address(2006)])
    expect(asked).toEqual(['/status', '/validators?per_page=100&page=1', '/validators?per_page=100&page=2'])
  })
})

/** A node of a network of three validators whose addresses are 1, 2 and 3; it is none of them. */
async function node(urls: readonly (string | undefined)[], more: Record<string, string> = {}) {
  const flags = {
    'consensus.enabled': 'true',
    'consensus.redirect': 'sender',
    'consensus.validator_rpc': urls.flatMap((url, i) => (url === undefined ? [] : [`${address(i + 1)}=${url}`])).join(','),
    'evm.http_port': '0',
    'evm.ws_port': '0',
    'evm.shutdown_timeout': '0s',
    ...more,
  }
  const { settings } = resolveSettings({ flags: new Map(Object.entries(flags)) })
  const answers = {
    status: { validator_info: { address: address(9) } },
    validators: { total: '3', validators: [1, 2, 3].map((n) => ({ address: address(n) })) },
  }
  const rpc = http.createServer((request, response) => {
    response.end(JSON.stringify({ result: request.url === '/status' ? answers.status : answers.validators }))
  })
  await new Promise<void>((resolve) => rpc.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    rpc.closeAllConnections()
    rpc.close()
  })
  const lines: string[] = []
  const log = openLog({ level: 'warn', levels: [], format: 'text', write: (line: string) => lines.push(line) } as never)
  const redirects = redirectsOf({ rpcUrl: `http://127.0.0.1:${(rpc.address() as AddressInfo).port}` } as Engine, settings, log)
  // The first answer of CometBFT.
  await until('the validators', () => redirects?.ownerFor(sender(0)) !== undefined || urls.every((url) => url === undefined))
  const core = fakeCore({
    // The first byte of these transactions names their sender; 0x00 has none.
    senderOf: async (args) => {
      const n = Number((args as { raw: string }).raw.slice(0, 4))
      return JSON.stringify(n === 0 ? null : sender(n))
    },
    keccak: async (args) => JSON.stringify(keccak256((args as { data: Hex }).data)),
    sendRawTransaction: '"0xhere"',
    getTransactionCount: '"0x5"',
  })
  const counted: string[] = []
  const failed: string[] = []
  const meter = {
    ...NO_METER,
    count: (counter: string, ...labels: readonly string[]) => (counter === 'redirected' ? counted : failed).push(labels.join(' ')),
  }
  const dispatch = makeDispatch({ ...rpcContext(core, settings), redirects }, batchLimits(settings), () => undefined, meter)
  const server = await startServer(settings, dispatch, { report: () => undefined })
  cleanups.push(() => server.stop())
  const ask = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(server.httpUrl as string, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    return { answer: (await response.json()) as Answer, owner: response.headers.get('x-hearth-redirected-to') }
  }
  const send = (raw: Hex, headers: Record<string, string> = {}) =>
    ask({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [raw] }, headers)
  return { core, counted, failed, ask, send, dispatch }
}

/** A transaction of a sender that belongs to validator `n`, and the sender. */
function of(n: number): { readonly raw: Hex; readonly from: Hex } {
  for (let i = 1; i < 200; i++)
    if (ownerOf(sender(i), [1, 2, 3].map(address)) === address(n)) return { raw: numberToHex(i * 256 + n, { size: 2 }), from: sender(i) }
  throw new Error('none')
}

const HERE = { jsonrpc: '2.0', id: 1, result: '0xhere' }

describe('a request of a sender', () => {
  it('goes to its owner, is counted, and returns unchanged', async () => {
    const all = await Promise.all([1, 2, 3].map((n) => validator(() => ({ result: `0x0${n}` }))))
    const { send, ask, core, counted } = await node(all.map(({ url }) => url))
    for (const n of [1, 2, 3]) {
      const { raw, from } = of(n)
      expect(await send(raw)).toEqual({ answer: { jsonrpc: '2.0', id: 1, result: `0x0${n}` }, owner: address(n) })
      const count = { jsonrpc: '2.0', id: 1, method: 'eth_getTransactionCount', params: [from, 'pending'] }
      expect((await ask(count)).owner).toBe(address(n))
      expect(all[n - 1]?.seen.map(({ method, params }) => [method, params])).toEqual([
        ['eth_sendRawTransaction', [raw]],
        ['eth_getTransactionCount', [from, 'pending']],
      ])
      expect(all[n - 1]?.seen[0]?.headers['x-hearth-redirected']).toBe('1')
    }
    expect(counted.length).toBe(6)
    expect(core.asked.filter(([op]) => op !== 'senderOf')).toEqual([])
  })

  it('stays here without an owner, from a validator, or for reads', async () => {
    const one = await validator(() => ({ result: '0x1' }))
    const { send, ask, counted } = await node([one.url, one.url, undefined])
    expect(await send('0x0001')).toEqual({ answer: HERE, owner: null })
    const { raw, from } = of(1)
    expect(await send(raw, { 'x-hearth-redirected': '1' })).toEqual({ answer: HERE, owner: null })
    expect(await send(raw, { 'x-hearth-forwarded': '1' })).toEqual({ answer: HERE, owner: null })
    const latest = await ask({ jsonrpc: '2.0', id: 1, method: 'eth_getTransactionCount', params: [from, 'latest'] })
    expect(latest.answer.result).toBe('0x5')
    expect([one.seen, counted]).toEqual([[], []])
  })

  it('goes to the one that takes all, with any sender or none', async () => {
    const one = await validator(() => ({ result: '0x1' }))
    const { send, core } = await node([one.url])
    const answer = { jsonrpc: '2.0', id: 1, result: '0x1' }
    for (const raw of ['0x0001', of(2).raw] as const) expect(await send(raw)).toEqual({ answer, owner: address(1) })
    expect(core.asked).toEqual([])
  })

  it('gets the error of its owner: code, message and data', async () => {
    const errors = [
      { code: -32000, message: 'nonce too low: next nonce 5, tx nonce 4' },
      { code: 3, message: 'execution reverted', data: '0x08c379a0' },
    ]
    const one = await validator(() => ({ error: errors[one.seen.length - 1] }))
    const { send, failed } = await node([one.url])
    for (const error of errors) expect(await send(of(1).raw)).toEqual({ answer: { jsonrpc: '2.0', id: 1, error }, owner: address(1) })
    expect(failed).toEqual([])
  })

  it('of a batch of 100 keeps its place, each entry by itself', async () => {
    const all = await Promise.all([1, 2, 3].map((n) => validator(({ params }) => ({ result: `${params[0]}0${n}` }))))
    const { ask, counted } = await node(all.map(({ url }) => url))
    const raws = Array.from({ length: 100 }, (_, i) => numberToHex((i + 1) * 256, { size: 2 }))
    const batch = raws.map((raw, id) => ({ jsonrpc: '2.0', id, method: 'eth_sendRawTransaction', params: [raw] }))
    const { answer } = await ask(batch)
    const owner = (i: number) => Number(BigInt(`0x${ownerOf(sender(i + 1), [1, 2, 3].map(address))}`))
    expect(answer).toEqual(raws.map((raw, id) => ({ jsonrpc: '2.0', id, result: `${raw}0${owner(id)}` })))
    expect(counted.length).toBe(100)
    // Transactions of one sender stay in order: those of a validator came as they were sent.
    for (const { seen } of all) expect(seen.map(({ params }) => params[0])).toEqual(seen.map(({ params }) => params[0] as string).sort())
  })

  it('carries the token of consensus.redirect_token_file', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
    cleanups.push(() => fs.rmSync(folder, { recursive: true }))
    const file = path.join(folder, 'token')
    fs.writeFileSync(file, 'hunter2\n')
    const one = await validator(() => ({ result: '0x1' }))
    const { send } = await node([one.url], { 'consensus.redirect_token_file': file })
    await send(of(1).raw)
    expect(one.seen[0]?.headers.authorization).toBe('Bearer hunter2')
    await expect(node([one.url], { 'consensus.redirect_token_file': `${file}-none` })).rejects.toThrow(
      'consensus.redirect_token_file cannot be read: ENOENT',
    )
    fs.writeFileSync(file, 'two words\n')
    await expect(node([one.url], { 'consensus.redirect_token_file': file })).rejects.toThrow('has to hold one token on one line')
  })
})

describe('an owner that does not answer', () => {
  it('that is unreachable: it is served here, none sent for 2 s', async () => {
    const one = await validator(() => ({ result: '0x1' }))
    const { send, failed, counted } = await node([one.url])
    await one.stop()
    expect(await send(of(1).raw)).toEqual({ answer: HERE, owner: null })
    expect(await send(of(1).raw)).toEqual({ answer: HERE, owner: null })
    expect([failed, counted.length]).toEqual([['unreachable', 'in_doubt'], 1])
  })

  it('that may have it: an error with its hash, no second copy', async () => {
    const one = await validator(() => undefined)
    const { send, ask, core, failed } = await node([one.url], { 'consensus.redirect_timeout': '200ms' })
    const { raw, from } = of(1)
    const message = `validator ${address(1)} gave no usable answer within consensus.redirect_timeout; transaction ${keccak256(raw)} may be known to it`
    expect(await send(raw)).toEqual({
      answer: { jsonrpc: '2.0', id: 1, error: { code: -32000, message, data: keccak256(raw) } },
      owner: null,
    })
    expect(core.asked.some(([op]) => op === 'sendRawTransaction')).toBe(false)
    // A count only reads: it is given here.
    const count = await ask({ jsonrpc: '2.0', id: 1, method: 'eth_getTransactionCount', params: [from, 'pending'] })
    expect(count.answer.result).toBe('0x5')
    expect(failed).toEqual(['timeout', 'in_doubt'])
  })

  it('is asked again after two seconds', async () => {
    let now = 0
    const answers = [{ failure: 'unreachable' }, { result: '0x1' }] as const
    let asked = 0
    const redirects = new Redirects(
      new Map([[address(1), async () => answers[asked++] as (typeof answers)[number]]]),
      () => ({ own: address(9), addresses: [address(1)] }),
      ownerOf,
      () => now,
    )
    const counted: string[] = []
    const meter = { sent: () => counted.push('sent'), failed: (reason: string) => counted.push(reason) }
    const send = async () => {
      const got = await redirects.send(sender(1), 'eth_sendRawTransaction', ['0x'], meter)
      return got !== undefined && 'failure' in got ? got.failure : got?.answer
    }
    expect(await send()).toBe('unreachable')
    now = 1999
    expect(await send()).toBe('in_doubt')
    now = 2000
    expect(await send()).toEqual({ result: '0x1' })
    expect(counted).toEqual(['sent', 'unreachable', 'in_doubt', 'sent'])
  })
})

describe('two nodes that send each other everything', () => {
  it('end after one hop', async () => {
    const first: { url?: string } = {}
    const back = await validator(({ params, headers }) => {
      // What the second node does with it: it serves what came with the header.
      expect(headers['x-hearth-redirected']).toBe('1')
      return { result: params[0] }
    })
    first.url = back.url
    const { send } = await node([back.url])
    expect((await send(of(1).raw)).answer.result).toBe(of(1).raw)
    expect(back.seen.length).toBe(1)
  })
})

describe('what is redirected', () => {
  it('has URLs, which a refusal never shows', () => {
    const secret = () => resolveSettings({ flags: new Map([['consensus.validator_rpc', 'abc=http://user:hunter2@host']]) })
    expect(secret).toThrow('--consensus.validator_rpc takes a list of ADDRESS=URL or URL, such as')
    expect(secret).not.toThrow('hunter2')
    const urls = validatorUrls([`${address(171).toUpperCase()}=http://a:1`, 'http://b?x=1'])
    expect([...urls]).toEqual([
      [address(171), 'http://a:1'],
      ['any', 'http://b?x=1'],
    ])
  })

  it('over WebSocket too, counted as such', async () => {
    const one = await validator(() => ({ result: HASH }))
    const { dispatch, counted } = await node([one.url])
    const client = { connection: 'websocket' as const, onDisconnect: () => undefined }
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [of(1).raw] })
    expect(JSON.parse(await drain(await dispatch(text, client))).result).toBe(HASH)
    expect(counted).toEqual(['eth_sendRawTransaction websocket'])
  })
})
