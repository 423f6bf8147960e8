// Nodes that follow and nodes that are followed, a proxy between both that does damage, and the
// comparison of their answers.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { expect } from 'vitest'
import { bodyOf } from '../unit/json-server.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

/** A development chain that is followed, with the genesis that a follower needs. */
export interface DevUpstream extends RunningNode {
  readonly genesis: string
}

/** Starts a development chain with a data directory. */
export async function devUpstream(...args: string[]): Promise<DevUpstream> {
  const home = tempHome()
  const node = await startNode(['dev', '--home', home, ...args])
  return { ...node, genesis: path.join(home, 'config/genesis.json') }
}

/** Starts a follower on a data directory. */
export const startFollower = (home: string, url: string, ...args: string[]): Promise<RunningNode> =>
  startNode(['follow', '--home', home, '--upstream', url, '--follow.poll_interval=50ms', ...args])

/** The result of a request; throws where it is an error. */
export async function result<T = unknown>(url: string, method: string, ...params: unknown[]): Promise<T> {
  const answer = await rpc(url, method, params)
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`)
  return answer.result as T
}

interface Head {
  readonly number: string
  readonly hash: string
  readonly transactions: readonly string[]
  readonly miner: string
}

export const blockAt = (url: string, tag: string): Promise<Head> => result<Head>(url, 'eth_getBlockByNumber', tag, false)

/** Waits until a follower has the head of its upstream. */
export async function caughtUp(follower: string, upstream: string): Promise<void> {
  await until('the head of the upstream', async () => {
    const latest = (url: string): Promise<string | undefined> =>
      blockAt(url, 'latest').then(
        ({ hash }) => hash,
        () => undefined,
      )
    const [own, other] = await Promise.all([latest(follower), latest(upstream)])
    return own !== undefined && own === other
  })
}

/** What `/ready` says. */
export const readyOf = async (url: string): Promise<{ status: string; reasons: string[] }> =>
  (await (await fetch(`${url}/ready`)).json()) as { status: string; reasons: string[] }

/** A home with the chain of a fixture. */
export function importedHome(genesis: string, chain: string): string {
  const home = tempHome()
  const imported = hearth(['import', '--home', home, '--genesis', genesis, chain])
  expect(imported.status, imported.stderr).toBe(0)
  return home
}

/** Configurations of every native tracer that go-ethereum has too. */
export const TRACERS: readonly object[] = [
  {},
  { tracer: 'callTracer', tracerConfig: { withLog: true } },
  { tracer: 'prestateTracer' },
  { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
  { tracer: '4byteTracer' },
  { tracer: 'flatCallTracer' },
  { tracer: 'noopTracer' },
  { tracer: 'muxTracer', tracerConfig: { callTracer: {}, prestateTracer: {} } },
]

/** Those that Hearth alone has. */
export const OWN_TRACERS: readonly object[] = [{ tracer: 'erc7562Tracer' }, { tracer: 'keccak256PreimageTracer' }]

/** The answer to a request as it came. */
async function textOf(url: string, method: string, params: readonly unknown[]): Promise<string> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text()
}

/** JSON with its keys in order: other clients have another one. */
const sorted = (text: string): string =>
  JSON.stringify(JSON.parse(text), (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )

/** What is compared of each block. */
export interface Comparison {
  readonly from: number
  readonly to: number
  readonly tracers: readonly object[]
  /** Whether answers must have the same bytes; else their values are compared. */
  readonly exact: boolean
  /** Further methods that take the number of a block. */
  readonly more?: readonly (readonly [method: string, ...params: unknown[]])[]
  /**
   * Answers of the first node by their requests, which comparisons of one unchanged chain with
   * several nodes share.
   */
  readonly answers?: Map<string, string>
}

/** Requests to each node that are under way at the same time. */
const COMPARED_AT_ONCE = 4

/** A request that is compared. */
type Request = readonly [method: string, ...params: unknown[]]

/** The requests about each block. */
async function* requestsOf(url: string, { from, to, tracers, more = [] }: Comparison): AsyncGenerator<Request> {
  for (let number = from; number <= to; number++) {
    const at = `0x${number.toString(16)}`
    const { hash, transactions } = await blockAt(url, at)
    yield ['eth_getBlockByNumber', at, true]
    yield ['eth_getBlockReceipts', at]
    yield ['debug_getRawReceipts', at]
    yield ['eth_getLogs', { fromBlock: at, toBlock: at }]
    for (const [method, ...params] of more) yield [method, at, ...params]
    for (const config of tracers) {
      yield ['debug_traceBlockByHash', hash, config]
      for (const transaction of transactions) yield ['debug_traceTransaction', transaction, config]
    }
    for (const transaction of transactions) yield ['eth_getTransactionReceipt', transaction]
  }
}

/** The requests to which two nodes give different answers, and how many they answered alike. */
export async function compared(
  [a, b]: readonly [string, string],
  comparison: Comparison,
): Promise<{ readonly same: number; readonly different: string[] }> {
  let same = 0
  const different: string[] = []
  const { exact, answers } = comparison
  const ofFirst = async (method: string, params: readonly unknown[]): Promise<string> => {
    const request = JSON.stringify([method, params])
    const text = answers?.get(request) ?? (await textOf(a, method, params))
    answers?.set(request, text)
    return text
  }
  const requests = requestsOf(a, comparison)
  /** Takes one request after the other, as the other lanes do. */
  const lane = async (): Promise<void> => {
    for await (const [method, ...params] of requests) {
      const texts = await Promise.all([ofFirst(method, params), textOf(b, method, params)])
      const [one, other] = exact ? texts : texts.map(sorted)
      if (one === other) same++
      else different.push(`${method} ${JSON.stringify(params)}: ${one?.slice(0, 400)} | ${other?.slice(0, 400)}`)
    }
  }
  await Promise.all(Array.from({ length: COMPARED_AT_ONCE }, lane))
  return { same, different }
}

/** Where two values differ, with keys in place of indexes and addresses: `calls[].gas`. */
function* placesOf(one: unknown, other: unknown, at = ''): Generator<readonly [place: string, one: unknown, other: unknown]> {
  const isTree = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null
  if (!isTree(one) || !isTree(other) || Array.isArray(one) !== Array.isArray(other)) {
    if (one !== other) yield [at, one, other]
    return
  }
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const name = Array.isArray(one) ? '[]' : `.${key.startsWith('0x') ? '*' : key}`
    yield* placesOf(one[key], other[key], at + name)
  }
}

/** What a request is called in a list of differences: traces by their tracer. */
function nameOf([method, , options]: Request): string {
  if (!method.startsWith('debug_trace')) return method
  const { tracer = 'struct logs', tracerConfig } = options as { tracer?: string; tracerConfig?: Readonly<Record<string, unknown>> }
  return tracerConfig?.diffMode === true ? `${tracer} in diffMode` : tracer
}

/**
 * The places in which the answers of two nodes differ, by the method or tracer and the place; an
 * example of each.
 */
export async function differences(
  [a, b]: readonly [string, string],
  comparison: Comparison,
): Promise<{ readonly same: number; readonly places: ReadonlyMap<string, string> }> {
  let same = 0
  const places = new Map<string, string>()
  for await (const request of requestsOf(a, comparison)) {
    const [method, ...params] = request
    const [one, other] = (await Promise.all([textOf(a, method, params), textOf(b, method, params)])).map((text) => JSON.parse(text))
    const found = [...placesOf(one, other)]
    if (found.length === 0) same++
    for (const [place, there, here] of found) {
      const kind = there === undefined ? ' (here alone)' : here === undefined ? ' (there alone)' : ''
      const example = `${JSON.stringify(params)}: ${JSON.stringify(there)?.slice(0, 200)} | ${JSON.stringify(here)?.slice(0, 200)}`
      // A trace of a block is those of its transactions.
      places.set(`${nameOf(request)}: ${place.replace(/^\.result(\[\]\.result)?\.?/, '')}${kind}`, example)
    }
  }
  return { same, places }
}

/** A request that passes the proxy. */
export interface Passing {
  readonly method: string
  readonly params: readonly unknown[]
}

/** What the proxy does to one message: the bytes that it answers, nothing at all, or an end. */
export type Damage = Buffer | 'hang' | 'destroy' | { readonly cut: number } | undefined

/** Stands between a follower and its upstream. */
export class FaultProxy {
  /** Damages the answer to a single request, which it gets as the upstream sent it. */
  damage: (request: Passing, answer: Buffer) => Damage | Promise<Damage> = () => undefined
  /** Methods that the upstream seems not to have, in batches too. */
  readonly hidden = new Set<string>()
  readonly requests: Passing[] = []
  url = ''
  private readonly server: http.Server

  private constructor(upstream: string) {
    this.server = http.createServer(async (request, response) => {
      const body = await bodyOf(request)
      if (body === undefined) return
      const message = JSON.parse(body) as Passing | Passing[]
      this.requests.push(...[message].flat())
      try {
        const passed = await fetch(upstream, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
        const answer = this.without(message, Buffer.from(await passed.arrayBuffer()))
        const damage = Array.isArray(message) ? undefined : await this.damage(message, answer)
        if (damage === 'destroy') response.destroy()
        else if (damage !== undefined && damage !== 'hang' && 'cut' in damage) {
          response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length })
          response.write(answer.subarray(0, damage.cut), () => response.destroy())
        } else if (damage !== 'hang') response.writeHead(200, { 'content-type': 'application/json' }).end(damage ?? answer)
      } catch {
        response.destroy()
      }
    })
  }

  /** An answer without those of hidden methods. */
  private without(message: Passing | Passing[], answer: Buffer): Buffer {
    const requests = [message].flat() as (Passing & { id: number })[]
    const hidden = new Map(requests.filter(({ method }) => this.hidden.has(method)).map(({ id, method }) => [id, method]))
    if (hidden.size === 0) return answer
    const one = (reply: { id: number }): object =>
      hidden.has(reply.id)
        ? { jsonrpc: '2.0', id: reply.id, error: { code: -32601, message: `the method ${hidden.get(reply.id)} does not exist` } }
        : reply
    const replies = JSON.parse(answer.toString()) as { id: number } | { id: number }[]
    return Buffer.from(JSON.stringify(Array.isArray(replies) ? replies.map(one) : one(replies)))
  }

  static async to(upstream: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream)
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve))
    proxy.url = `http://127.0.0.1:${(proxy.server.address() as AddressInfo).port}`
    return proxy
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}
