// REST and gRPC over a core and a CometBFT of the test's own: paths, heights, failures, limits,
// tokens, metrics.
import fs from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { afterEach, describe, expect, it } from 'vitest'
import { resolveSettings } from '../../ts/config/index.ts'
import { CoreError } from '../../ts/core/error.ts'
import { startCosmos } from '../../ts/cosmos/index.ts'
import { QUERIES } from '../../ts/cosmos/queries.ts'
import * as S from '../../ts/cosmos/schemas.ts'
import { decode, encode, type Values } from '../../ts/cosmos/wire.ts'
import { bech32 } from '../../ts/rpc/bech32.ts'
import { fakeCore } from './fake-core.ts'

/** The body of an answer: what the tests look into. */
type Body = Values & {
  readonly block: { readonly header: Values; readonly data: Values; readonly last_commit: { readonly signatures: readonly Values[] } }
  readonly sdk_block: { readonly header: Values }
  readonly tx: { readonly body: Values }
  readonly tx_response: { readonly tx: Values }
  readonly tx_responses: readonly Values[]
}

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

type RestArgs = { query: string; params: Record<string, string>; height?: number }
/** The arguments of the last request to the core. */
const lastOf = ({ asked }: { asked: readonly [string, unknown][] }): unknown => asked.at(-1)?.[1]

type QueryArgs = { path: string; data: string; height?: number }

/**
 * A CometBFT: answers with what stands behind a path without its query string, or with a function
 * of the URL.
 */
async function cometbft(answers: Record<string, unknown>): Promise<{ url: string; asked: string[]; bodies: string[] }> {
  const asked: string[] = []
  const bodies: string[] = []
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      const url = decodeURIComponent((request.url ?? '').slice(1))
      const name = request.method === 'POST' ? (JSON.parse(body).method as string) : (url.split('?')[0] as string)
      asked.push(url)
      if (body !== '') bodies.push(body)
      const found = answers[name]
      const answer = typeof found === 'function' ? found(url) : found
      response.end(JSON.stringify(answer instanceof Error ? { error: { message: answer.message } } : { result: answer }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, bodies }
}

async function open(
  rest: (args: RestArgs) => string | Error,
  { flags = {}, query, engine }: { flags?: Record<string, string>; query?: (args: QueryArgs) => string | Error; engine?: string } = {},
) {
  const all = { 'rest.port': '0', 'grpc.port': '0', 'evm.shutdown_timeout': '200ms', ...flags }
  const { settings } = resolveSettings({ flags: new Map(Object.entries(all)) })
  const reply = (answer: string | Error): string => {
    if (answer instanceof Error) throw answer
    return answer
  }
  const core = fakeCore({
    cosmosRest: async (args) => {
      const given = args as RestArgs
      return reply(rest(given))
    },
    cosmosQuery: async (args) => reply(query?.(args as QueryArgs) ?? new Error('no query')),
  })
  const counted: string[] = []
  const reported: unknown[] = []
  const listeners = await startCosmos(settings, {
    core,
    rpcUrl: () => engine,
    version: '1.2.3',
    meter: {
      count: (_: string, ...[listener = '', name = '', code = '']: readonly string[]) =>
        void counted.push(`${listener} ${name.split('/')[1] ?? name} ${code}`),
    },
    report: (e) => reported.push(e),
  })
  cleanups.push(() => listeners.stop())
  const get = async (where: string, init: RequestInit = {}) => {
    const response = await fetch(`${listeners.restUrl}${where}`, init)
    return { status: response.status, json: (await response.json()) as Body, headers: response.headers }
  }
  const call = (name: string, data: Buffer = Buffer.alloc(0), metadata: Record<string, string> = {}) =>
    new Promise<{ code: number; details?: string; body?: Buffer; height?: string | undefined }>((resolve) => {
      const client = new Client(listeners.grpcUrl as string, credentials.createInsecure())
      const sent = new Metadata()
      for (const [key, value] of Object.entries(metadata)) sent.set(key, value)
      let height: string | undefined
      const same = (bytes: Buffer): Buffer => bytes
      client
        .makeUnaryRequest(`/${name}`, same, same, data, sent, (e: ServiceError | null, body?: Buffer) => {
          client.close()
          if (e !== null) resolve({ code: e.code, details: e.details })
          else resolve({ code: 0, body: body as Buffer, height })
        })
        .on('metadata', (m) => {
          height = m.get('x-cosmos-block-height')[0]?.toString()
        })
    })
  return { listeners, get, call, core, counted, reported }
}

const ok = (body: string, height = '7'): string => `{"code":0,"height":"${height}","body":${body}}`
const failure = (code: number, message: string): string => JSON.stringify({ code, message, height: '7' })

/** Sends the head of a simulation, and one byte of its body of `length` bytes. */
function beginBody(port: number, length: number): net.Socket {
  const socket = net.connect(port, '127.0.0.1')
  cleanups.push(() => void socket.destroy())
  socket.write(`POST /cosmos/tx/v1beta1/simulate HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n{`)
  return socket
}

describe('REST', () => {
  it('passes path parameters on, and the bytes of the core back', async () => {
    const body = '{"validators":[],"pagination":{"next_key":null,"total":"0"}, "odd":   1.0}'
    const { get, core, listeners } = await open(() => ok(body))
    const response = await fetch(
      `${listeners.restUrl}/cosmos/staking/v1beta1/validators?pagination.limit=5&pagination.key=a%2Bb%3D&status=BOND_STATUS_BONDED&x=1&x=2`,
    )
    expect(await response.text()).toBe(body)
    expect([response.status, response.headers.get('content-type'), response.headers.get('x-cosmos-block-height')]).toEqual([
      200,
      'application/json',
      '7',
    ])
    const params = { 'pagination.limit': '5', 'pagination.key': 'a+b=', status: 'BOND_STATUS_BONDED', x: ['1', '2'] }
    expect(core.asked.at(-1)).toEqual(['cosmosRest', { query: 'cosmos.staking.v1beta1.Query/Validators', params }])
    await get('/cosmos/staking/v1beta1/validators/hearthvaloper1x/delegations/hearth1y/unbonding_delegation', {
      headers: { 'x-cosmos-block-height': '5' },
    })
    expect(lastOf(core)).toEqual({
      query: 'cosmos.staking.v1beta1.Query/UnbondingDelegation',
      params: { validator_addr: 'hearthvaloper1x', delegator_addr: 'hearth1y' },
      height: 5,
    })
  })

  it('passes on a parameter with a name that every object has', async () => {
    const { get, core, reported } = await open(() => ok('{}'))
    const { status } = await get('/cosmos/staking/v1beta1/validators?constructor=1&toString=2&pagination.limit=5')
    expect([status, reported]).toEqual([200, []])
    const { params } = lastOf(core) as RestArgs
    expect(Object.entries(params).join(' ')).toBe('constructor,1 toString,2 pagination.limit,5')
    expect((await get('/cosmos/staking/v1beta1/validators?__proto__=1')).status).toBe(200)
  })

  it('takes an empty part of a path for an empty parameter', async () => {
    const { get, core, counted } = await open(() => failure(3, 'validator address cannot be empty'))
    expect((await get('/cosmos/staking/v1beta1/validators/')).status).toBe(400)
    expect(lastOf(core)).toEqual({ query: 'cosmos.staking.v1beta1.Query/Validator', params: { validator_addr: '' } })
    await get('/cosmos/staking/v1beta1/validators//delegations')
    expect(lastOf(core)).toEqual({ query: 'cosmos.staking.v1beta1.Query/ValidatorDelegations', params: { validator_addr: '' } })
    expect((await get('/cosmos/base/tendermint/v1beta1/blocks/')).json.message).toBe('height cannot be empty')
    expect(counted).toEqual(['rest Validator 3', 'rest ValidatorDelegations 3', 'rest GetBlockByHeight 3'])
  })

  it('reaches every query of the core', async () => {
    const { get, core } = await open(() => ok('{}'))
    for (const { name, source, get: paths = [] } of QUERIES) {
      if (source !== 'core') continue
      for (const where of paths) {
        expect((await get(where.replaceAll(/\{\w+\}/g, 'value'))).status).toBe(200)
        expect((lastOf(core) as RestArgs).query).toBe(name)
      }
    }
    await get('/cosmos/tx/v1beta1/simulate', { method: 'POST', body: '{"tx_bytes":"AQI=","other":{}}' })
    expect(lastOf(core)).toEqual({ query: 'cosmos.tx.v1beta1.Service/Simulate', params: { tx_bytes: 'AQI=' } })
  })

  it.each([
    [3, 400],
    [5, 404],
    [12, 501],
    [13, 500],
    [14, 503],
  ])('answers the code %d with the status %d', async (code, status) => {
    const { get, counted } = await open(() => failure(code, 'a "reason"'))
    const { status: got, json, headers } = await get('/cosmos/staking/v1beta1/pool')
    expect([got, json, headers.get('x-cosmos-block-height')]).toEqual([status, { code, message: 'a "reason"', details: [] }, '7'])
    expect(counted).toEqual([`rest Pool ${code}`])
  })

  it('says of what it does not have that it is not implemented', async () => {
    const { get, counted, core } = await open(() => ok('{}'))
    for (const where of ['/cosmos/gov/v1/proposals', '/nonsense', '/', '/cosmos/staking/v1beta1/validators/a/b/c']) {
      const { status, json, headers } = await get(where)
      expect([where, status, json, headers.get('content-type')]).toEqual([
        where,
        501,
        { code: 12, message: 'Not Implemented', details: [] },
        'application/json',
      ])
    }
    expect((await get('/cosmos/staking/v1beta1/pool', { method: 'POST', body: '{}' })).status).toBe(501)
    expect(counted).toEqual(Array(5).fill('rest unknown 12'))
    expect(core.asked).toEqual([])
  })

  it('refuses heights and bodies that are none', async () => {
    const { get } = await open(() => ok('{}'))
    const odd = await get('/cosmos/staking/v1beta1/pool', { headers: { 'x-cosmos-block-height': '-1' } })
    expect([odd.status, odd.json]).toEqual([400, { code: 3, message: 'x-cosmos-block-height has to be a height, not "-1"', details: [] }])
    expect((await get('/cosmos/tx/v1beta1/simulate', { method: 'POST', body: '{' })).json.message).toBe('the body is not JSON')
    expect((await get('/cosmos/tx/v1beta1/simulate', { method: 'POST', body: '[]' })).json.message).toBe('the body has to be an object')
    const { get: small } = await open(() => ok('{}'), { flags: { 'evm.max_request_body_bytes': '1 KiB' } })
    expect((await small('/cosmos/tx/v1beta1/simulate', { method: 'POST', body: `{"tx_bytes":"${'A'.repeat(2000)}"}` })).status).toBe(413)
  })

  it('takes bodies within evm.max_concurrent_request_bytes', async () => {
    const flags = { 'evm.max_concurrent_request_bytes': '1 MiB', 'evm.max_request_body_bytes': '1 MiB', 'evm.max_share_per_client': '1' }
    const { get, listeners } = await open(() => ok('{}'), { flags })
    const simulate = (text: string) => get('/cosmos/tx/v1beta1/simulate', { method: 'POST', body: `{"tx_bytes":"${text}"}` })
    const half = 'A'.repeat(700 * 1024)
    expect((await simulate(half)).status).toBe(200)
    const first = beginBody(Number(new URL(listeners.restUrl as string).port), half.length)
    await expect.poll(async () => (await simulate(half)).status).toBe(429)
    expect((await simulate('AQI=')).status).toBe(200)
    first.destroy()
    await expect.poll(async () => (await simulate(half)).status).toBe(200)
  })

  it('answers on after a refusal before the end of a body', async () => {
    const flags = { 'evm.max_concurrent_request_bytes': '1 MiB', 'evm.max_request_body_bytes': '1 MiB', 'evm.max_share_per_client': '1' }
    const { listeners } = await open(() => ok('{}'), { flags })
    const port = Number(new URL(listeners.restUrl as string).port)
    const half = `{"tx_bytes":"${'A'.repeat(700 * 1024)}"}`
    beginBody(port, half.length)
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    cleanups.push(() => agent.destroy())
    const simulate = (body: string): Promise<readonly [status: number | undefined, isReused: boolean]> =>
      new Promise((resolve, reject) => {
        const options = { agent, method: 'POST', host: '127.0.0.1', port, path: '/cosmos/tx/v1beta1/simulate' }
        const request = http.request(options, (response) => {
          response.resume().once('end', () => resolve([response.statusCode, request.reusedSocket]))
        })
        request.once('error', reject).end(body)
      })
    await expect.poll(() => simulate(half)).toEqual([429, expect.any(Boolean)])
    expect(await simulate('{"tx_bytes":"AQI="}')).toEqual([200, true])
  })

  it('takes no more of one client than its share', async () => {
    const flags = { 'evm.max_concurrent_request_bytes': '4 MiB', 'evm.max_request_body_bytes': '1 MiB', 'evm.max_share_per_client': '0.25' }
    const { get, listeners } = await open(() => ok('{}'), { flags })
    const simulate = (text: string) => get('/cosmos/tx/v1beta1/simulate', { method: 'POST', body: `{"tx_bytes":"${text}"}` })
    const half = 'A'.repeat(700 * 1024)
    const first = beginBody(Number(new URL(listeners.restUrl as string).port), half.length)
    await expect.poll(async () => (await simulate(half)).status).toBe(429)
    expect((await simulate('AQI=')).status).toBe(200)
    first.destroy()
    await expect.poll(async () => (await simulate(half)).status).toBe(200)
  })

  it('shortens pages to rest.max_page', async () => {
    const { get, core } = await open(() => ok('{}'), { flags: { 'rest.max_page': '20' } })
    const limit = async (text: string): Promise<string | undefined> => {
      await get(`/cosmos/staking/v1beta1/validators?pagination.limit=${text}`)
      return (lastOf(core) as RestArgs).params['pagination.limit']
    }
    expect([await limit('20'), await limit('21'), await limit('99999999999999999999'), await limit('x')]).toEqual(['20', '20', '20', 'x'])
    // The core takes a sign, and the last one of several.
    expect([await limit('%2B21'), await limit('5&pagination.limit=21')]).toEqual(['20', '20'])
  })

  it('shortens pages without a limit to rest.max_page', async () => {
    const read = async (most: string, query: string): Promise<Record<string, string>> => {
      const { get, core } = await open(() => ok('{}'), { flags: { 'rest.max_page': most } })
      await get(`/cosmos/staking/v1beta1/validators${query}`)
      return (lastOf(core) as RestArgs).params
    }
    // Without a limit the SDK counts the list, also where the request does not want it.
    const page = { 'pagination.limit': '20', 'pagination.count_total': 'true' }
    expect(await read('20', '')).toEqual(page)
    expect(await read('20', '?pagination.limit=0')).toEqual(page)
    expect(await read('20', '?pagination.limit=00&pagination.count_total=false')).toEqual(page)
    expect(await read('20', '?pagination.limit=5&pagination.limit=')).toEqual(page)
    // A page has 100 entries then, which are no more than may be.
    expect(await read('100', '?pagination.limit=0')).toEqual({ 'pagination.limit': '0' })
    expect(await read('1000', '')).toEqual({})
  })

  it('hides what fails within the node, and says that it is busy', async () => {
    const { get, reported } = await open(() => new CoreError('internal', 'a secret path /home/x'))
    expect((await get('/cosmos/staking/v1beta1/pool')).json).toEqual({ code: 13, message: 'internal error', details: [] })
    expect(reported.length).toBe(1)
    const { get: busy } = await open(() => new CoreError('busy', 'node is busy'))
    const { status, json } = await busy('/cosmos/staking/v1beta1/pool')
    expect([status, json.code, json.message]).toEqual([429, 8, 'node is busy'])
  })

  it('admits pages, hosts and rates by the settings of [evm]', async () => {
    const { get, listeners } = await open(() => ok('{}'), {
      flags: {
        'evm.cors_origins': 'https://a.example',
        'evm.rate_limiting_enabled': 'true',
        'evm.ip_rate_limit_rps': '1',
        'evm.ip_rate_limit_burst': '2',
        'evm.batch_request_limit': '1',
      },
    })
    const page = await get('/cosmos/staking/v1beta1/pool', { headers: { origin: 'https://a.example' } })
    expect(page.headers.get('access-control-allow-origin')).toBe('https://a.example')
    const other = await get('/cosmos/staking/v1beta1/pool', { headers: { origin: 'https://b.example' } })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
    const third = await get('/cosmos/staking/v1beta1/pool')
    expect([third.status, third.json]).toEqual([429, { code: 8, message: 'too many requests', details: [] }])
    const { port } = new URL(listeners.restUrl as string)
    const status = await new Promise((resolve) =>
      http.get({ port, host: '127.0.0.1', path: '/', headers: { host: 'evil.example' }, agent: false }, (r) => {
        r.resume()
        resolve(r.statusCode)
      }),
    )
    expect(status).toBe(403)
  })
})

describe('both listeners', () => {
  it('ask for the tokens of the settings', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
    cleanups.push(() => fs.rmSync(folder, { recursive: true }))
    const file = path.join(folder, 'tokens')
    fs.writeFileSync(file, 'abcdefgh-ijklmnop\n', { mode: 0o600 })
    const flags = { 'evm.auth_token_file': file }
    const { get, call, counted } = await open(() => ok('{}'), { flags, query: () => '{"code":0,"log":"","value":"0x","height":"7"}' })
    const authorization = 'Bearer abcdefgh-ijklmnop'
    const none = await get('/cosmos/staking/v1beta1/pool')
    expect([none.status, none.json.code, none.headers.get('www-authenticate')]).toEqual([401, 16, 'Bearer realm="hearth"'])
    expect((await get('/cosmos/staking/v1beta1/pool', { headers: { authorization } })).status).toBe(200)
    expect((await call('cosmos.staking.v1beta1.Query/Pool')).code).toBe(16)
    expect((await call('cosmos.staking.v1beta1.Query/Pool', Buffer.alloc(0), { authorization })).code).toBe(0)
    expect(counted).toEqual(['rest Pool 16', 'rest Pool 0', 'grpc Pool 16', 'grpc Pool 0'])
  })

  it('are open where they are switched on', async () => {
    const flags = { 'rest.host': '127.0.0.2', 'grpc.host': '127.0.0.3' }
    const both = (await open(() => ok('{}'), { flags })).listeners
    expect([both.restUrl, both.grpcUrl]).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.2:\d+$/),
      expect.stringMatching(/^127\.0\.0\.3:\d+$/),
    ])
    const none = (await open(() => ok('{}'), { flags: { 'rest.enabled': 'false', 'grpc.enabled': 'false' } })).listeners
    expect([none.restUrl, none.grpcUrl]).toEqual([undefined, undefined])
    const taken = new URL(both.restUrl as string).port
    await expect(open(() => ok('{}'), { flags: { 'rest.host': '127.0.0.2', 'rest.port': taken } })).rejects.toThrow(
      'another process has it. Choose another port with --rest.port=PORT.',
    )
  })
})

describe('gRPC', () => {
  it('passes bytes to its query, and the bytes of the core back', async () => {
    const { call, core, counted } = await open(() => ok('{}'), {
      query: () => '{"code":0,"log":"","value":"0x0a0101","height":"12"}',
    })
    const answer = await call('cosmos.staking.v1beta1.Query/Validators', Buffer.from('120318f403', 'hex'), {
      'x-cosmos-block-height': '12',
    })
    expect([answer.code, answer.body?.toString('hex'), answer.height]).toEqual([0, '0a0101', '12'])
    const args = { path: '/cosmos.staking.v1beta1.Query/Validators', data: '0x120318f403', height: 12 }
    expect(core.asked.at(-1)).toEqual(['cosmosQuery', args])
    expect(counted).toEqual(['grpc Validators 0'])
  })

  it('ends with the code of a failure, and 12 if unknown', async () => {
    const { call } = await open(() => ok('{}'), {
      query: () => '{"code":5,"log":"validator x not found","value":"0x","height":"12"}',
    })
    expect(await call('cosmos.staking.v1beta1.Query/Validator')).toEqual({ code: 5, details: 'validator x not found' })
    expect((await call('cosmos.gov.v1.Query/Proposals')).code).toBe(12)
    expect((await call('cosmos.staking.v1beta1.Query/Pool', Buffer.alloc(0), { 'x-cosmos-block-height': 'x' })).code).toBe(3)
  })

  it('refuses requests that are too long', async () => {
    const { call } = await open(() => ok('{}'), { flags: { 'evm.max_request_body_bytes': '1 KiB' } })
    expect((await call('cosmos.staking.v1beta1.Query/Pool', Buffer.alloc(2000))).code).toBe(8)
  })
})

describe('what CometBFT answers', () => {
  const PROPOSER = 'AB'.repeat(20)
  const HEADER = {
    version: { block: '11', app: '1' },
    chain_id: 'hearth-7',
    height: '5',
    time: '2026-01-02T03:04:05.006Z',
    last_block_id: { hash: 'AA', parts: { total: 1, hash: 'BB' } },
    last_commit_hash: '01',
    data_hash: '',
    app_hash: 'CC',
    proposer_address: PROPOSER,
  }
  const SIGNATURES = [
    { block_id_flag: 2, validator_address: PROPOSER, timestamp: '2026-01-02T03:04:05Z', signature: 'AQ==' },
    { block_id_flag: 1, validator_address: '', timestamp: '0001-01-01T00:00:00Z', signature: null },
  ]
  const BLOCK = {
    block_id: { hash: 'DD', parts: { total: 1, hash: 'EE' } },
    block: {
      header: HEADER,
      data: { txs: ['Cg=='] },
      evidence: { evidence: [] },
      last_commit: { height: '4', round: 0, block_id: { hash: 'AA', parts: { total: 1, hash: 'BB' } }, signatures: SIGNATURES },
    },
  }
  const VALCONS = bech32('hearthvalcons', Buffer.from(PROPOSER, 'hex'))
  const validator = {
    address: PROPOSER,
    pub_key: { type: 'tendermint/PubKeyEd25519', value: 'AQI=' },
    voting_power: '10',
    proposer_priority: '-5',
  }
  const engine = (more: Record<string, unknown> = {}) =>
    cometbft({
      status: {
        node_info: {
          protocol_version: { p2p: '8', block: '11', app: '1' },
          id: 'ab12',
          listen_addr: 'tcp://0.0.0.0:1',
          network: 'hearth-7',
          version: '0.38.26',
          channels: '4020',
          moniker: 'node0',
          other: { tx_index: 'on', rpc_address: 'tcp://127.0.0.1:2' },
        },
        sync_info: { catching_up: false },
      },
      block: BLOCK,
      validators: { block_height: '5', validators: [validator], total: '1' },
      ...more,
    })
  const T = '/cosmos/base/tendermint/v1beta1'

  it('is node_info and syncing', async () => {
    const { url } = await engine()
    const { get, call } = await open(() => ok('{}'), { engine: url })
    expect((await get(`${T}/node_info`)).json).toEqual({
      default_node_info: {
        protocol_version: { p2p: '8', block: '11', app: '1' },
        default_node_id: 'ab12',
        listen_addr: 'tcp://0.0.0.0:1',
        network: 'hearth-7',
        version: '0.38.26',
        channels: 'QCA=',
        moniker: 'node0',
        other: { tx_index: 'on', rpc_address: 'tcp://127.0.0.1:2' },
      },
      application_version: {
        name: 'hearth',
        app_name: 'hearth',
        version: '1.2.3',
        git_commit: '',
        build_tags: '',
        go_version: '',
        build_deps: [],
        cosmos_sdk_version: '',
      },
    })
    expect((await get(`${T}/syncing`)).json).toEqual({ syncing: false })
    expect(await call('cosmos.base.tendermint.v1beta1.Service/GetSyncing')).toMatchObject({ code: 0, body: Buffer.alloc(0) })
  })

  it('is a block in both forms, with the proposer as in the SDK', async () => {
    const { url, asked } = await engine()
    const { get, call } = await open(() => ok('{}'), { engine: url })
    const { json } = await get(`${T}/blocks/latest`)
    expect(json.block_id).toEqual({ hash: '3Q==', part_set_header: { total: 1, hash: '7g==' } })
    expect([json.block.header.chain_id, json.block.header.height, json.block.header.app_hash]).toEqual(['hearth-7', '5', 'zA=='])
    expect([json.block.header.proposer_address, json.sdk_block.header.proposer_address]).toEqual([
      Buffer.from(PROPOSER, 'hex').toString('base64'),
      VALCONS,
    ])
    expect(json.block.last_commit.signatures.map((s: Values) => s.block_id_flag)).toEqual(['BLOCK_ID_FLAG_COMMIT', 'BLOCK_ID_FLAG_ABSENT'])
    expect(json.block.data.txs).toEqual(['Cg=='])
    expect(json.block.last_commit.signatures.map((s: Values) => s.signature)).toEqual(['AQ==', null])
    const { body } = await call('cosmos.base.tendermint.v1beta1.Service/GetBlockByHeight', encode(S.HEIGHT_REQUEST, { height: '5' }))
    const { time: _, ...header } = decode({ h: { n: 1, kind: { of: {} } } }, body as Buffer) as { time?: unknown }
    expect(header).toBeDefined()
    const inner = decode(
      {
        block: {
          n: 2,
          kind: { of: { header: { n: 1, kind: { of: { chain_id: { n: 2, kind: 'string' }, height: { n: 3, kind: 'int64' } } } } } },
        },
      },
      body as Buffer,
    )
    expect(inner).toEqual({ block: { header: { chain_id: 'hearth-7', height: '5' } } })
    expect(asked).toEqual(['block', 'block?height=5'])
    expect((await get(`${T}/blocks/0`)).json).toEqual({ code: 3, message: 'invalid height 0', details: [] })
    expect((await get(`${T}/blocks/x`)).status).toBe(400)
  })

  it('is refused where a block has evidence, which no table has', async () => {
    const { url } = await engine({ block: { ...BLOCK, block: { ...BLOCK.block, evidence: { evidence: [{}] } } } })
    const { get } = await open(() => ok('{}'), { engine: url })
    expect((await get(`${T}/blocks/latest`)).json).toMatchObject({ code: 12 })
  })

  it('is unavailable before the first block', async () => {
    const { url } = await engine({ block: { ...BLOCK, block: null } })
    const { get } = await open(() => ok('{}'), { engine: url })
    const { status, json } = await get(`${T}/blocks/latest`)
    expect([status, json]).toEqual([503, { code: 14, message: 'the chain has no block yet', details: [] }])
  })

  it('is a set of validators of one height, in all its pages', async () => {
    const pub_key = { type: 'tendermint/PubKeyEd25519', value: Buffer.alloc(32, 9).toString('base64') }
    const validator = { address: '11'.repeat(20), pub_key, voting_power: '10', proposer_priority: '0' }
    let latest = 5
    const validators = (url: string): unknown => {
      const given = new URLSearchParams(url.split('?')[1])
      // Each page finds a newer block; the set has one validator more in each.
      const height = Number(given.get('height') ?? latest++)
      const of = Array.from({ length: 145 + height }, () => validator)
      const from = (Number(given.get('page')) - 1) * 100
      return { block_height: String(height), validators: of.slice(from, from + 100), total: String(of.length) }
    }
    const { url, asked } = await cometbft({ validators })
    const { get } = await open(() => ok('{}'), { engine: url })
    const { json } = await get(`${T}/validatorsets/latest?pagination.limit=200`)
    expect(json.block_height).toBe('5')
    expect((json.validators as unknown[]).length).toBe(150)
    expect(asked).toEqual(['validators?per_page=100&page=1', 'validators?per_page=100&page=2&height=5'])
  })

  it('is a set of validators', async () => {
    const { url, asked } = await engine()
    const { get } = await open(() => ok('{}'), { engine: url })
    const { json } = await get(`${T}/validatorsets/5?pagination.offset=0`)
    const key = { '@type': '/cosmos.crypto.ed25519.PubKey', key: 'AQI=' }
    expect(json).toEqual({
      block_height: '5',
      validators: [{ address: VALCONS, pub_key: key, voting_power: '10', proposer_priority: '-5' }],
      pagination: { next_key: null, total: '1' },
    })
    expect(asked).toEqual(['validators?per_page=100&page=1&height=5'])
    expect((await get(`${T}/validatorsets/latest?pagination.offset=1`)).json.validators).toEqual([])
  })

  it('is the outcome of a transaction that is sent', async () => {
    const { url, bodies } = await engine({
      broadcast_tx_sync: { code: 5, log: 'insufficient funds', codespace: 'sdk', hash: 'AB', data: '' },
    })
    const { get, call } = await open(() => ok('{}'), { engine: url })
    const post = (body: object) => get('/cosmos/tx/v1beta1/txs', { method: 'POST', body: JSON.stringify(body) })
    const { json } = await post({ tx_bytes: 'AQI=', mode: 'BROADCAST_MODE_SYNC' })
    expect(json.tx_response).toMatchObject({
      code: 5,
      codespace: 'sdk',
      raw_log: 'insufficient funds',
      txhash: 'AB',
      height: '0',
      tx: null,
    })
    expect(JSON.parse(bodies[0] as string)).toMatchObject({ method: 'broadcast_tx_sync', params: { tx: 'AQI=' } })
    expect((await post({ tx_bytes: 'AQI=', mode: 'BROADCAST_MODE_BLOCK' })).json.code).toBe(3)
    expect((await post({ tx_bytes: 'AQI=', mode: 2 })).json).toEqual(json)
    expect((await post({ mode: 'BROADCAST_MODE_SYNC' })).json.message).toBe('invalid empty tx')
    const answer = await call('cosmos.tx.v1beta1.Service/BroadcastTx', encode(S.BROADCAST_REQUEST, { tx_bytes: 'AQI=', mode: 2 }))
    const response = { tx_response: { n: 1, kind: { of: { code: { n: 4, kind: 'uint32' }, raw_log: { n: 6, kind: 'string' } } } } } as const
    expect(decode(response, answer.body as Buffer)).toEqual({ tx_response: { code: '5', raw_log: 'insufficient funds' } })
    const full = await engine({ broadcast_tx_sync: new Error('mempool is full: number of txs 5000') })
    const { get: ofFull } = await open(() => ok('{}'), { engine: full.url })
    const refused = await ofFull('/cosmos/tx/v1beta1/txs', { method: 'POST', body: '{"tx_bytes":"AQI=","mode":"BROADCAST_MODE_SYNC"}' })
    expect(refused.json.tx_response).toMatchObject({ code: 20, codespace: 'sdk' })
  })

  it('is a transaction of a block, and a search', async () => {
    const send = S.REGISTRY.get('/cosmos.bank.v1beta1.MsgSend')
    const values = { from_address: 'hearth1a', to_address: 'hearth1b', amount: [{ denom: 'wei', amount: '5' }] }
    const raw = encode(S.TX, {
      body: { messages: [{ type: '/cosmos.bank.v1beta1.MsgSend', schema: send, values }] },
      auth_info: {},
      signatures: ['AQ=='],
    })
    const tx = {
      hash: 'AB'.repeat(32),
      height: '5',
      tx: raw.toString('base64'),
      tx_result: {
        code: 0,
        data: 'EgA=',
        log: '',
        gas_wanted: '10',
        gas_used: '7',
        events: [{ type: 'message', attributes: [{ key: 'sender', value: 'x', index: true }] }],
      },
    }
    const ethereum = { ...tx, hash: 'CD'.repeat(32), tx: 'Av8=' }
    const { url, asked } = await engine({
      tx: (where: string) => (where.includes('ABAB') ? tx : new Error(`tx (${where}) not found`)),
      tx_search: { txs: [tx, ethereum], total_count: '2' },
      header: { header: HEADER },
    })
    const { get, call } = await open(() => ok('{}'), { engine: url })
    const { json } = await get(`/cosmos/tx/v1beta1/txs/${tx.hash}`)
    expect(json.tx.body.messages).toEqual([{ '@type': '/cosmos.bank.v1beta1.MsgSend', ...values }])
    expect(json.tx_response).toMatchObject({
      height: '5',
      txhash: tx.hash,
      data: '1200',
      gas_used: '7',
      timestamp: HEADER.time,
      events: [{ type: 'message', attributes: [{ key: 'sender', value: 'x', index: true }] }],
    })
    expect(json.tx_response.tx['@type']).toBe('/cosmos.tx.v1beta1.Tx')
    const unknown = await get(`/cosmos/tx/v1beta1/txs/${'EF'.repeat(32)}`)
    expect([unknown.status, unknown.json]).toEqual([404, { code: 5, message: `tx not found: ${'EF'.repeat(32)}`, details: [] }])
    expect((await get('/cosmos/tx/v1beta1/txs/xyz')).status).toBe(400)
    const found = await call('cosmos.tx.v1beta1.Service/GetTx', encode(S.GET_TX_REQUEST, { hash: tx.hash }))
    expect(decode({ tx: { n: 1, kind: 'hex' } }, found.body as Buffer)).toEqual({ tx: raw.toString('hex') })
    const search = await get(
      `/cosmos/tx/v1beta1/txs?query=${encodeURIComponent("message.sender='x'")}&page=2&limit=3&order_by=ORDER_BY_DESC`,
    )
    expect([search.json.total, search.json.tx_responses.map((r: Values) => r.txhash), search.json.tx_responses[1]?.tx]).toEqual([
      '2',
      [tx.hash, ethereum.hash],
      null,
    ])
    expect(asked).toContain(`tx_search?query="message.sender='x'"&page=2&per_page=3&order_by="desc"`)
    expect((await get('/cosmos/tx/v1beta1/txs')).json.message).toBe('query cannot be empty')
  })

  it('is absent without CometBFT, and refuses as it does', async () => {
    const { get } = await open(() => ok('{}'), { engine: 'http://127.0.0.1:9' })
    expect((await get(`${T}/syncing`)).status).toBe(503)
    const { get: without } = await open(() => ok('{}'))
    expect((await without(`${T}/syncing`)).json).toEqual({ code: 14, message: 'this node has no CometBFT', details: [] })
    const { url } = await engine({ block: new Error('height 99 must be less than or equal to the current blockchain height 5') })
    const { get: refused } = await open(() => ok('{}'), { engine: url })
    const { status, json } = await refused(`${T}/blocks/99`)
    expect([status, json.code, json.message]).toEqual([400, 3, expect.stringContaining('current blockchain height 5')])
  })
})
