// Every path through the dispatcher records exactly one sample per request, with the right labels
// and the right time.
import { beforeEach, describe, expect, it } from 'vitest'
import type { ByteStream } from '../../ts/core/body.ts'
import { CoreError } from '../../ts/core/error.ts'
import type { Core } from '../../ts/core/port.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { CONNECTIONS, type Connection, ENDPOINTS, type RequestMeter } from '../../ts/rpc/meter.ts'
import { OUTCOMES } from '../../ts/rpc/outcome.ts'
import type { Reply } from '../../ts/rpc/reply.ts'
import { drain, type FakeStream, fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

let samples: string[] = []
let times: number[] = []
/** A clock that stands until a test moves it. */
let clock = 0
beforeEach(() => {
  samples = []
  times = []
  clock = 0
})

const meter: RequestMeter = {
  now: () => clock,
  request(endpoint, connection, outcome, began, ended) {
    const { success, errorClass, codeClass } = OUTCOMES[outcome] as (typeof OUTCOMES)[number]
    const how = success ? 'ok' : `${errorClass}/${codeClass}`
    samples.push(`${ENDPOINTS[endpoint]} ${CONNECTIONS[connection]} ${how}`)
    times.push(ended - began)
  },
  count: (...counted) => void samples.push(counted.join(' ')),
}

const LIMITS = { requests: 5, responseBytes: 100, concurrency: 2 }

interface Options {
  readonly namespaces?: string[]
  readonly denied?: string[]
  readonly connection?: Connection
  readonly onDisconnect?: (callback: () => void) => void
}

function send(
  core: Core,
  body: unknown,
  { namespaces, denied = [], connection = 'http', onDisconnect = () => undefined }: Options = {},
): Promise<Reply> | Reply {
  const context = { core, namespaces: namespaces ?? ['eth', 'net', 'debug', 'chain'], clientVersion: 'Hearth/test', ...PLAIN_RULES, denied }
  const dispatch = makeDispatch(context, LIMITS, () => undefined, meter)
  return dispatch(typeof body === 'string' ? body : JSON.stringify(body), { connection, onDisconnect })
}

const ask = async (core: Core, body: unknown, options?: Options): Promise<string> => drain(await send(core, body, options))
const call = (method: string, params?: unknown[], id: number | undefined = 1) => ({ jsonrpc: '2.0', id, method, params })
const trace = call('debug_traceBlockByNumber', ['0x1'])
const reverted = new CoreError('execution_reverted', 'execution reverted', '0x')

const withStream = (stream: FakeStream) => fakeCore({ blockNumber: '"0x1"' }, () => stream)

describe('a request', () => {
  it.each([
    ['a result', call('eth_blockNumber'), 'eth_blockNumber http ok'],
    ['a notification', { jsonrpc: '2.0', method: 'eth_blockNumber' }, 'eth_blockNumber http ok'],
    ['a revert', call('eth_call', [{}]), 'eth_call http execution_reverted/other'],
    ['a revert of an estimate', call('eth_estimateGas', [{}]), 'eth_estimateGas http execution_reverted/other'],
    [
      'a height before the first block',
      call('eth_getBalance', [`0x${'00'.repeat(20)}`, '0x1']),
      'eth_getBalance http evm_not_supported/server',
    ],
    ['a panic of the core', call('eth_gasPrice'), 'eth_gasPrice http panic/spec'],
    ['an exception in a handler', call('net_version'), 'net_version http panic/spec'],
    ['a refusal because of load', call('eth_getLogs', [{}]), 'eth_getLogs http jsonrpc_error/server'],
    ['a missing parameter', call('eth_getBalance', []), 'eth_getBalance http jsonrpc_error/spec'],
    ['a notification that fails', { jsonrpc: '2.0', method: 'eth_getBalance' }, 'eth_getBalance http jsonrpc_error/spec'],
    ['an unknown method', call('eth_nothing'), 'unknown http jsonrpc_error/spec'],
    ['a method whose name is no label', call('x"} 1\nfake{a="'), 'unknown http jsonrpc_error/spec'],
    ['a method of a namespace that is not served', call('web3_clientVersion'), 'web3_clientVersion http jsonrpc_error/spec'],
    ['a disabled method', call('chain_getTransactionReceipt', ['0x']), 'chain_getTransactionReceipt http chain_legacy_disabled/spec'],
    [
      'a method that is left out on purpose',
      call('debug_standardTraceBlockToFile'),
      'debug_standardTraceBlockToFile http jsonrpc_error/spec',
    ],
    ['another version of the protocol', { id: 1, method: 'eth_blockNumber' }, 'eth_blockNumber http jsonrpc_error/spec'],
    ['an id that is none', { jsonrpc: '2.0', id: {}, method: 'eth_blockNumber' }, 'eth_blockNumber http jsonrpc_error/spec'],
    ['no method', { jsonrpc: '2.0', id: 1 }, 'invalid http jsonrpc_error/spec'],
    ['a method that is no text', { jsonrpc: '2.0', id: 1, method: 7 }, 'invalid http jsonrpc_error/spec'],
    ['a number', 7, 'invalid http jsonrpc_error/spec'],
    ['no JSON', '{', 'invalid http jsonrpc_error/spec'],
    ['an empty batch', [], 'invalid http jsonrpc_error/spec'],
  ])('%s is one sample', async (_, body, sample) => {
    const core = fakeCore({
      blockNumber: '"0x1"',
      call: reverted,
      estimateGas: reverted,
      getBalance: new CoreError('evm_not_supported', 'block 1 is before the first block'),
      gasPrice: new CoreError('internal', 'internal error: a job panicked'),
      netVersion: () => Promise.reject(new TypeError('x is undefined')),
      getLogs: new CoreError('busy', 'node is busy'),
    })
    await ask(core, body)
    expect(samples).toEqual([sample])
  })

  it('over WebSocket says so', async () => {
    await ask(fakeCore({ blockNumber: '"0x1"' }), call('eth_blockNumber'), { connection: 'websocket' })
    expect(samples).toEqual(['eth_blockNumber websocket ok'])
  })

  it('of namespace chain is disabled even if not served', async () => {
    const answer = await ask(fakeCore({}), call('chain_getTransactionReceipt'), { namespaces: ['eth'] })
    expect(JSON.parse(answer).error).toEqual({
      code: -32601,
      message: 'chain_getTransactionReceipt is not enabled on this node: add it to evm.enabled_legacy_chain_apis',
      data: 'legacy_chain_deprecated',
    })
    await ask(fakeCore({}), call('chain_nothing'), { namespaces: ['eth', 'chain'] })
    expect(samples).toEqual(['chain_getTransactionReceipt http chain_legacy_disabled/spec', 'unknown http chain_legacy_disabled/spec'])
  })

  it('that is denied counts by its name', async () => {
    const answer = await ask(fakeCore({}), call('eth_blockNumber'), { denied: ['eth_blockNumber'] })
    expect(JSON.parse(answer).error.code).toBe(-32601)
    expect(samples).toEqual(['eth_blockNumber http jsonrpc_error/spec'])
  })

  it.each([
    ['evm_not_supported', 'block 1 is before the first block of this node, which is block 5', -32000],
    ['internal', 'internal error: a job panicked', -32603],
  ] as const)('that ends with %s has the code of its class', async (kind, message, code) => {
    const answer = await ask(fakeCore({ blockNumber: new CoreError(kind, message) }), call('eth_blockNumber'))
    expect(JSON.parse(answer).error).toEqual({ code, message })
  })

  it('whose client left before there was an answer has no code', async () => {
    await ask(withStream(fakeStream([new CoreError('cancelled', 'cancelled: no client waits for the answer')])), trace)
    expect(samples).toEqual(['debug_traceBlockByNumber http unknown/'])
  })

  it('takes the time until its answer is there', async () => {
    const slow = async (): Promise<string> => {
      clock += 250
      return '"0x1"'
    }
    await ask(fakeCore({ blockNumber: slow }), call('eth_blockNumber'))
    expect(times).toEqual([250])
  })
})

describe('a batch', () => {
  const core = () => fakeCore({ blockNumber: '"0x1"', call: reverted }, () => fakeStream(['[1', ',2', ']']))

  it('is one sample an element', async () => {
    const body = [call('eth_blockNumber'), { jsonrpc: '2.0', method: 'eth_blockNumber' }, call('eth_nothing'), 5, call('eth_call', [{}])]
    await ask(core(), body, { connection: 'websocket' })
    expect(samples.sort()).toEqual([
      'eth_blockNumber websocket ok',
      'eth_blockNumber websocket ok',
      'eth_call websocket execution_reverted/other',
      'invalid websocket jsonrpc_error/spec',
      'unknown websocket jsonrpc_error/spec',
    ])
  })

  it('that is too large is one rejected sample an element', async () => {
    await ask(core(), [...Array(5).fill(call('eth_blockNumber')), call('eth_nothing')])
    expect(samples).toEqual([...Array(5).fill('eth_blockNumber http jsonrpc_error/spec'), 'unknown http jsonrpc_error/spec'])
  })

  it('counts refused answers beyond the limit as such', async () => {
    const large = fakeCore({ blockNumber: `"${'x'.repeat(90)}"` })
    const answers = JSON.parse(await ask(large, Array(5).fill(call('eth_blockNumber')))) as { error?: object }[]
    const refused = answers.filter((a) => a.error !== undefined).length
    expect(refused).toBe(3)
    expect(samples).toEqual([...Array(2).fill('eth_blockNumber http ok'), ...Array(3).fill('eth_blockNumber http jsonrpc_error/server')])
  })

  it('measures each element from the parsed batch to its own end', async () => {
    const waits = [100, 10]
    const stepped = fakeCore({
      sendRawTransaction: async () => {
        clock += waits.shift() as number
        return '"0x1"'
      },
    })
    // Methods that write run one after the other: the second waits for the first.
    await ask(stepped, [call('eth_sendRawTransaction', ['0x01']), call('eth_sendRawTransaction', ['0x02'])])
    expect(times).toEqual([100, 110])
  })

  it('counts its own time, not that of a slower answer before', async () => {
    let release: (value: string) => void = () => undefined
    const core = fakeCore({ gasPrice: () => new Promise((resolve) => (release = resolve)), blockNumber: '"0x1"' })
    const answer = ask(core, [call('eth_gasPrice'), call('eth_blockNumber')])
    await new Promise((resolve) => setImmediate(resolve))
    clock = 400
    release('"0x2"')
    await answer
    expect(samples).toEqual(['eth_gasPrice http ok', 'eth_blockNumber http ok'])
    expect(times).toEqual([400, 0])
  })
})

/** The stream of a reply. */
function streamOf({ body }: Reply): ByteStream {
  if (body.kind !== 'stream') throw new Error('no stream')
  return body.stream
}

describe('a stream', () => {
  it('is recorded when it ends', async () => {
    const answer = await send(withStream(fakeStream(['[1', ',2', ',3', ']'])), trace)
    expect(samples).toEqual([])
    clock = 70
    expect(await drain(answer)).toBe('{"jsonrpc":"2.0","id":1,"result":[1,2,3]}')
    expect(samples).toEqual(['debug_traceBlockByNumber http ok'])
    expect(times).toEqual([70])
    streamOf(answer).cancel()
    expect(samples.length).toBe(1)
  })

  it('of one chunk is a result', async () => {
    await ask(withStream(fakeStream(['[]'])), trace)
    expect(samples).toEqual(['debug_traceBlockByNumber http ok'])
  })

  it('with failed transactions in it is a success', async () => {
    await ask(withStream(fakeStream(['[{"error":"execution reverted"', '}', ']'])), trace)
    expect(samples).toEqual(['debug_traceBlockByNumber http ok'])
  })

  it('that fails at once is an error', async () => {
    await ask(withStream(fakeStream([new CoreError('transaction_not_found', 'transaction not found')])), trace)
    expect(samples).toEqual(['debug_traceBlockByNumber http jsonrpc_error/server'])
  })

  it('that fails behind what was sent is an error', async () => {
    expect(await ask(withStream(fakeStream(['[1', ',2]', new CoreError('trace', 'out of time')])), trace)).toContain(
      '"error":{"code":-32000',
    )
    expect(samples).toEqual(['debug_traceBlockByNumber http jsonrpc_error/server'])
  })

  it('that breaks in the middle has no code', async () => {
    await expect(ask(withStream(fakeStream(['[1', ',2', new CoreError('closed', 'node is closed')])), trace)).rejects.toThrow('closed')
    expect(samples).toEqual(['debug_traceBlockByNumber http unknown/'])
  })

  it('whose client goes has no code', async () => {
    const answer = await send(withStream(fakeStream(['[1', ',2', ',3', ']'])), trace)
    const stream = streamOf(answer)
    await stream.next()
    stream.cancel()
    stream.cancel()
    expect(samples).toEqual(['debug_traceBlockByNumber http unknown/'])
  })

  it('asked for by a notification is not run', async () => {
    const stream = fakeStream(['[1', ']'])
    await ask(withStream(stream), { ...trace, id: undefined })
    expect([stream.cancelled, samples]).toEqual([true, ['debug_traceBlockByNumber http ok']])
  })

  it('ends every sample of a batch, however the batch ends', async () => {
    const chunk = 'x'.repeat(700_000)
    const large = () => fakeStream([`["${chunk}"`, `,"${chunk}"`, ',3', ']'])
    const whole = await send(fakeCore({ blockNumber: '"0x1"' }, large), [trace, trace, call('eth_blockNumber')])
    expect(samples).toEqual([])
    await drain(whole)
    expect(samples).toEqual([
      'debug_traceBlockByNumber http ok',
      'debug_traceBlockByNumber http jsonrpc_error/server',
      'eth_blockNumber http jsonrpc_error/server',
    ])
    samples = []
    const left = await send(fakeCore({ blockNumber: '"0x1"' }, large), [call('eth_blockNumber'), trace, trace])
    streamOf(left).cancel()
    expect(samples).toEqual(['eth_blockNumber http ok', 'debug_traceBlockByNumber http unknown/', 'debug_traceBlockByNumber http unknown/'])
    samples = []
    const broken = () => fakeStream(['[1', ',2', new CoreError('closed', 'node is closed')])
    await ask(fakeCore({ blockNumber: '"0x1"' }, broken), [call('eth_blockNumber'), trace])
    expect(samples).toEqual(['eth_blockNumber http ok', 'debug_traceBlockByNumber http jsonrpc_error/server'])
  })
})
